// DFMA on three register pairs, and FFMA beside it. Teaches that registers of one bank are read one after another.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kThreads = 512, kTimes = 128, kWide = 8;
__device__ double out[kThreads];

__host__ __device__ double steps(double first, int thread) {
  double x[kWide], a[kWide], b[kWide], sum = 0;
  float y[kWide];
  for (int k = 0; k < kWide; k++) x[k] = y[k] = thread, a[k] = first + k * 0.125, b[k] = first + k + 1;
#pragma unroll 4
  for (int i = 0; i < kTimes; i++)
    for (int k = 0; k < kWide; k++) x[k] = fma(x[k], a[k], b[k]), y[k] = fmaf(y[k], 0.5f, 1.0f);
  for (int k = 0; k < kWide; k++) sum += x[k] + y[k];
  return sum;
}

__global__ void horner(double first) { out[threadIdx.x] = steps(first, threadIdx.x); }

int main() {
  horner<<<1, kThreads>>>(0.25);
  double got[kThreads];
  cudaMemcpyFromSymbol(got, out, sizeof got);
  int bad = 0;
  for (int i = 0; i < kThreads; i++) bad += got[i] != steps(0.25, i);
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
