// A block that does little but exchange registers between lanes. Teaches that shuffles share one queue an SM.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kThreads = 1024, kTimes = 128;
__device__ int out[kThreads];

__global__ void shuffles() {
  int a = threadIdx.x, b = a + 1, c = a + 2, d = a + 3;
  for (int i = 0; i < kTimes; i++) {
    a = __shfl_xor_sync(~0u, a, 1);
    b = __shfl_xor_sync(~0u, b, 2);
    c = __shfl_xor_sync(~0u, c, 4);
    d = __shfl_xor_sync(~0u, d, 8);
  }
  out[threadIdx.x] = a + b + c + d;
}

int main() {
  shuffles<<<1, kThreads>>>();
  int got[kThreads], bad = 0;
  cudaMemcpyFromSymbol(got, out, sizeof got);
  for (int i = 0; i < kThreads; i++) bad += got[i] != 4 * i + 6;  // an even number of exchanges: back where it was
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
