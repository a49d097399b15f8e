// FFMA on three registers that differ each time. Teaches that two register banks cannot serve three operands at once.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kThreads = 1024, kTimes = 32, kWide = 16;
__device__ float out[kThreads];

__global__ void products(float first) {
  float a[kWide], b[kWide], sum[kWide];
  for (int k = 0; k < kWide; k++) a[k] = first + k, b[k] = a[k] + threadIdx.x % 2, sum[k] = 0;
  for (int i = 0; i < kTimes; i++)
    for (int k = 0; k < kWide; k++) sum[k] = a[k] * b[k] + sum[k];
  float all = 0;
  for (int k = 0; k < kWide; k++) all += sum[k];
  out[threadIdx.x] = all;
}

int main() {
  products<<<1, kThreads>>>(1.0f);
  float got[kThreads], want[2] = {};
  for (int k = 1; k <= kWide; k++) want[0] += kTimes * k * k, want[1] += kTimes * k * (k + 1);
  cudaMemcpyFromSymbol(got, out, sizeof got);
  int bad = 0;
  for (int i = 0; i < kThreads; i++) bad += got[i] != want[i % 2];
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
