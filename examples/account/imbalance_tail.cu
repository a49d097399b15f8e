// A triangle of work: the last block has the most. Teaches that a launch ends with its slowest block.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kBlocks = 64, kThreads = 1024, kSteps = 2;
__device__ int out[kBlocks];

__global__ void triangle() {
  int x = threadIdx.x;
  for (int i = 0; i < int(blockIdx.x) * kSteps; i++) x = x * 3 + i;
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

int main() {
  triangle<<<kBlocks, kThreads>>>();
  int got[kBlocks], bad = 0;
  cudaMemcpyFromSymbol(got, out, sizeof got);
  for (int b = 0; b < kBlocks; b++) {
    unsigned x = 0;
    for (int i = 0; i < b * kSteps; i++) x = x * 3 + i;
    bad += got[b] != int(x);
  }
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
