// All threads add to one word. Teaches that an L2 slice does atomics on one address one after another.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kBlocks = 64, kThreads = 256;
__device__ float sum;

__global__ void add() { atomicAdd(&sum, 1.0f); }

int main() {
  add<<<kBlocks, kThreads>>>();
  float got = 0;
  cudaMemcpyFromSymbol(&got, sum, sizeof got);
  printf("sum=%.0f %s\n", got, got == kBlocks * kThreads ? "PASS" : "FAIL");
  return got != kBlocks * kThreads;
}
