// Local memory: arrays indexed at run time, spilled registers, calls that are not inlined.
#include "common.cuh"

__global__ void stack(const int *in, int *out, int depth) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, saved[32], top = 0, v = in[i];
  for (int k = 0; k < depth; k++) {
    saved[top++ & 31] = v;
    v = v * 5 + k;
    if (v & 1) v += saved[(v >> 1) & 31 & (top - 1)];
  }
  out[i] = v;
}

__global__ void __launch_bounds__(256, 8) spilled(const float *in, float *out, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v[48];
  for (int k = 0; k < 48; k++) v[k] = in[i + k * stride];
  for (int r = 0; r < 4; r++)
    for (int k = 0; k < 48; k++) v[k] = v[k] * v[(k + 7) % 48] + v[(k + 13) % 48];
  float sum = 0;
  for (int k = 0; k < 48; k++) sum += v[k];
  out[i] = sum;
}

__noinline__ __device__ float step(float x, int k) { return k % 3 ? x * 1.0001f + k : x - 0.5f; }

__global__ void calls(const float *in, float *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = in[i];
  for (int k = 0; k < rounds; k++) v = step(v, k);
  out[i] = v;
}

int main() {
  const int n = 1 << 16;
  float *in = randoms<float>(n * 64), *out = zeros<float>(n);
  stack<<<n / 128, 128>>>((int *)in, (int *)out, 24);
  done("stack", (int *)out, n);
  spilled<<<n / 256, 256>>>(in, out, n);
  done("spilled", out, n);
  calls<<<n / 256, 256>>>(in, out, 50);
  done("calls", out, n);
}
