// The same work in grids of other shapes: few blocks, small blocks, large blocks, one block a SM by shared memory.
#include "common.cuh"

__global__ void scale(const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 3.0f;
}

__global__ void staged(const float *x, float *y) {
  extern __shared__ float s[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  s[threadIdx.x] = x[i];
  __syncthreads();
  float v = s[threadIdx.x ^ 1];
  for (int k = 0; k < 64; k++) v = v * 1.01f + 0.5f;
  y[i] = v;
}

__global__ void independent(float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float a = i, b = i + 1, c = i + 2, d = i + 3;
  for (int k = 0; k < 256; k++) a = a * 1.1f + 1.0f, b = b * 1.1f + 1.0f, c = c * 1.1f + 1.0f, d = d * 1.1f + 1.0f;
  y[i] = a + b + c + d;
}

int main() {
  const int n = 1 << 20;
  float *x = randoms<float>(n), *y = zeros<float>(n);
  scale<<<1, 256>>>(x, y, 1 << 14);
  scale<<<4, 512>>>(x, y, 1 << 16);
  scale<<<n / 32, 32>>>(x, y, n);
  scale<<<n / 1024, 1024>>>(x, y, n);
  scale<<<132, 1024>>>(x, y, n);
  done("scale", y, n);
  CHECK(cudaFuncSetAttribute(staged, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
  staged<<<n / 256, 256, 120 << 10>>>(x, y);
  done("staged", y, n);
  staged<<<n / 256, 256, 40 << 10>>>(x, y);
  done("staged 40", y, n);
  independent<<<132, 128>>>(y);
  independent<<<132 * 4, 512>>>(y);
  independent<<<133, 1024>>>(y);
  done("independent", y, n);
}
