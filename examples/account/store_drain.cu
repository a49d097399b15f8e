// One store a thread and nothing else. Teaches that a launch has not ended before its last store is where it belongs.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kThreads = 256;
__device__ int out[kThreads];

__global__ void fill() { out[threadIdx.x] = threadIdx.x; }

int main() {
  fill<<<1, kThreads>>>();
  int got[kThreads], bad = 0;
  cudaMemcpyFromSymbol(got, out, sizeof got);
  for (int i = 0; i < kThreads; i++) bad += got[i] != i;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
