// Sixteen thousand blocks of one warp, each with next to nothing to do. Teaches that handing out blocks takes time.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kBlocks = 1 << 14;
__device__ int last;

__global__ void tiny() {
  if (blockIdx.x == kBlocks - 1) last = kBlocks;
}

int main() {
  tiny<<<kBlocks, 32>>>();
  int got = 0;
  cudaMemcpyFromSymbol(&got, last, sizeof got);
  printf("last=%d %s\n", got, got == kBlocks ? "PASS" : "FAIL");
  return got != kBlocks;
}
