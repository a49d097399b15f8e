// Constant memory read uniformly and by lane, and a filter from it.
#include "common.cuh"

__constant__ float taps[64];
__constant__ float table[4096];

__global__ void filter(const float *in, float *out, int n) {
  __shared__ float tile[256 + 32];
  int i = blockIdx.x * 256 + threadIdx.x;
  tile[threadIdx.x] = in[i];
  if (threadIdx.x < 32) tile[256 + threadIdx.x] = i + 256 < n ? in[i + 256] : 0.0f;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 32; k++) sum += tile[threadIdx.x + k] * taps[k];
  out[i] = sum;
}

__global__ void by_lane(const int *index, float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 8; k++) sum += table[(index[i] + k * 37) & 4095];
  out[i] = sum;
}

__global__ void by_warp(float *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; k++) sum += table[(i / 32 * 61 + k * 64) & 4095];
  out[i] = sum;
}

__global__ void conv2d(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int r = -2; r <= 2; r++)
    for (int c = -2; c <= 2; c++) {
      int px = min(max(x + c, 0), w - 1), py = min(max(y + r, 0), h - 1);
      sum += in[py * w + px] * taps[(r + 2) * 5 + c + 2];
    }
  out[y * w + x] = sum;
}

int main() {
  const int n = 1 << 18;
  std::vector<float> values(4096);
  for (int i = 0; i < 4096; i++) values[i] = float(i % 7);
  CHECK(cudaMemcpyToSymbol(taps, values.data(), sizeof taps));
  CHECK(cudaMemcpyToSymbol(table, values.data(), sizeof table));
  float *in = randoms<float>(n), *out = zeros<float>(n);
  filter<<<n / 256, 256>>>(in, out, n);
  done("filter", out, n);
  by_lane<<<n / 4 / 256, 256>>>(randoms<int>(n, 4096), out);
  done("by_lane", out, n);
  by_warp<<<n / 256, 256>>>(out);
  done("by_warp", out, n);
  conv2d<<<dim3(512 / 32, 512 / 8), dim3(32, 8)>>>(in, out, 512, 512);
  done("conv2d", out, n);
}
