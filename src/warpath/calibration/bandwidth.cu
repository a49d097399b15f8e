// Streams against size: read, write, copy, triad, float and float4, grid of one element a thread and grid-stride.
// Durations, DRAM and L2 traffic come from the profiler, cold and warm.
#include "common.cuh"

__global__ void read1(const float *a, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sink(a[i], out);
}
__global__ void write1(float *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = 1.0f;
}
__global__ void copy1(const float *a, float *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
__global__ void triad1(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + 3.0f * b[i];
}
__global__ void read4(const float4 *a, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = a[i];
    sink(v.x + v.y + v.z + v.w, out);
  }
}
__global__ void write4(float4 *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = make_float4(1, 2, 3, 4);
}
__global__ void copy4(const float4 *a, float4 *b, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) b[i] = a[i];
}
__global__ void stride_read(const float *a, float *out, int n) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i];
  sink(sum, out);
}

int main() {
  const int most = 1 << 26;
  float *a, *b, *c;
  CK(cudaMalloc(&a, size_t(most) * 4));
  CK(cudaMalloc(&b, size_t(most) * 4));
  CK(cudaMalloc(&c, size_t(most) * 4));
  for (int n : {1 << 14, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24, 1 << 26}) {
    int g = (n + 255) / 256;
    read1<<<g, 256>>>(a, c, n);
    write1<<<g, 256>>>(c, n);
    copy1<<<g, 256>>>(a, c, n);
    triad1<<<g, 256>>>(a, b, c, n);
    read4<<<(g + 3) / 4, 256>>>((const float4 *)a, c, n / 4);
    write4<<<(g + 3) / 4, 256>>>((float4 *)c, n / 4);
    copy4<<<(g + 3) / 4, 256>>>((const float4 *)a, (float4 *)c, n / 4);
    stride_read<<<132 * 8 < g ? 132 * 8 : g, 256>>>(a, c, n);
  }
  for (int blocks : {1, 4, 16, 66, 132, 264, 528, 1056}) stride_read<<<blocks, 256>>>(a, c, 1 << 21);
  for (int threads : {32, 64, 128, 512, 1024}) copy1<<<(1 << 21) / threads, threads>>>(a, c, 1 << 21);
  CK(cudaDeviceSynchronize());
  return 0;
}
