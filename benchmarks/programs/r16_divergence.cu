// Lanes that part: a switch, loops of random length, early exits, nested conditions.
#include "common.cuh"

__global__ void paths(const float *in, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  switch (i & 7) {
  case 0: v = sqrtf(v); break;
  case 1: v = v * v + 1; break;
  case 2: v = __sinf(v); break;
  case 3: v = 1.0f / (v + 1); break;
  case 4: v = __expf(-v); break;
  case 5: v = fabsf(v - 3); break;
  case 6: v = __logf(v + 1); break;
  default: v = v * 0.5f;
  }
  out[i] = v;
}

__global__ void random_loops(const int *trips, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i;
  for (int k = 0; k < trips[i]; k++) v = v * 0.99f + 1.0f;
  out[i] = v;
}

__global__ void by_warp_loops(const int *trips, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i;
  int n = trips[i / 32] * 8;
  for (int k = 0; k < n; k++) v = v * 0.99f + 1.0f;
  out[i] = v;
}

__global__ void nested(const int *in, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, v = in[i];
  for (int k = 0; k < 8; k++) {
    if (v & 1) {
      if (v & 2) v = v * 3 + in[(v >> 2) & 1023];
      else v = v * 7 - 1;
    } else {
      v = (v >> 1) + in[(i + k) & 1023];
    }
  }
  out[i] = v;
}

__global__ void march(const float *field, float *out, int size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  int steps = 0;
  for (int z = 0; z < 64 && sum < 200.0f; z++, steps++) sum += field[((z * 7 + y) % size) * size + (x + z) % size];
  out[y * size + x] = sum + steps;
}

int main() {
  const int n = 1 << 18;
  float *in = randoms<float>(n), *out = zeros<float>(n);
  int *trips = randoms<int>(n, 64);
  paths<<<n / 256, 256>>>(in, out);
  done("paths", out, n);
  random_loops<<<n / 256, 256>>>(trips, out);
  done("random_loops", out, n);
  by_warp_loops<<<n / 256, 256>>>(trips, out);
  done("by_warp_loops", out, n);
  nested<<<n / 4 / 256, 256>>>(trips, (int *)out);
  done("nested", (int *)out, n / 4);
  march<<<dim3(512 / 16, 512 / 8), dim3(16, 8)>>>(in, out, 512);
  done("march", out, n);
}
