// Neighbours in a plane and in space, through L1 and through shared memory.
#include "common.cuh"

__global__ void five(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  int i = y * w + x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - w] + in[i + w]);
}

__global__ void five_shared(const float *in, float *out, int w, int h) {
  __shared__ float tile[18][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1, i = y * w + x;
  tile[ty][tx] = in[i];
  if (threadIdx.y == 0) tile[0][tx] = y > 0 ? in[i - w] : 0.0f;
  if (threadIdx.y == 15) tile[17][tx] = y < h - 1 ? in[i + w] : 0.0f;
  if (threadIdx.x == 0) tile[ty][0] = x > 0 ? in[i - 1] : 0.0f;
  if (threadIdx.x == 31) tile[ty][33] = x < w - 1 ? in[i + 1] : 0.0f;
  __syncthreads();
  out[i] = 0.2f * (tile[ty][tx] + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx]);
}

__global__ void seven(const float *in, float *out, int s) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= s - 1 || y >= s - 1) return;
  int plane = s * s, i = plane + y * s + x;
  float below = in[i - plane], here = in[i];
  for (int z = 1; z < s - 1; z++, i += plane) {
    float above = in[i + plane];
    out[i] = 0.4f * here + 0.1f * (below + above + in[i - 1] + in[i + 1] + in[i - s] + in[i + s]);
    below = here;
    here = above;
  }
}

int main() {
  const int w = 1024, h = 1024, s = 96;
  float *in = randoms<float>(w * h), *out = zeros<float>(w * h);
  five<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(in, out, w, h);
  done("five", out, w * h);
  five<<<dim3(w / 16, h / 16), dim3(16, 16)>>>(in, out, w, h);
  done("five 16x16", out, w * h);
  five_shared<<<dim3(w / 32, h / 16), dim3(32, 16)>>>(in, out, w, h);
  done("five_shared", out, w * h);
  float *cube = randoms<float>(s * s * s), *next = zeros<float>(s * s * s);
  seven<<<dim3(s / 32, s / 4), dim3(32, 4)>>>(cube, next, s);
  done("seven", next, s * s * s);
}
