// One value in, one value out, in the forms that elementwise kernels take.
#include "common.cuh"
#include <cuda_fp16.h>

__global__ void saxpy(const float *x, float *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void saxpy4(const float4 *x, float4 *y, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 p = x[i], q = y[i];
  y[i] = make_float4(a * p.x + q.x, a * p.y + q.y, a * p.z + q.z, a * p.w + q.w);
}

__global__ void gelu(const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = x[i];
  y[i] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
}

__global__ void axpy_half(const __half2 *x, __half2 *y, __half2 a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(a, x[i], y[i]);
}

__global__ void gray(const uchar3 *rgb, unsigned char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar3 p = rgb[i];
  out[i] = (unsigned char)(0.299f * p.x + 0.587f * p.y + 0.114f * p.z);
}

__global__ void stride_loop(const float *x, float *y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] * 2.0f + 1.0f;
}

__global__ void power(const float *x, float *y, float e, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = powf(x[i] + 1.0f, e) + sinf(x[i]);
}

int main() {
  const int n = 1 << 20;
  float *x = randoms<float>(n), *y = randoms<float>(n);
  saxpy<<<n / 256, 256>>>(x, y, 2.0f, n);
  done("saxpy", y, n);
  saxpy4<<<n / 4 / 128, 128>>>((float4 *)x, (float4 *)y, 2.0f, n / 4);
  done("saxpy4", y, n);
  gelu<<<n / 512, 512>>>(x, y, n);
  done("gelu", y, n);
  axpy_half<<<n / 256, 256>>>((__half2 *)x, (__half2 *)zeros<float>(n), __float2half2_rn(0.5f), n);
  gray<<<n / 256, 256>>>((uchar3 *)randoms<unsigned char>(3 * n, 256), (unsigned char *)y, n);
  stride_loop<<<264, 256>>>(x, y, n);
  done("stride_loop", y, n);
  power<<<n / 256, 256>>>(x, y, 1.7f, n);
  done("power", y, n);
}
