// One block of 64 has sixteen times the work of the others. Teaches that a launch ends with its slowest block.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kBlocks = 64, kThreads = 1024;
__device__ float out[kBlocks];

__global__ void uneven(float factor) {
  const int steps = blockIdx.x == 0 ? 1024 : 64;
  float x = threadIdx.x;
  for (int i = 0; i < steps; i++) x = x * factor + 1.0f;
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

int main() {
  uneven<<<kBlocks, kThreads>>>(0.5f);
  float got[kBlocks];
  cudaMemcpyFromSymbol(got, out, sizeof got);
  int bad = 0;
  for (float x : got) bad += x != 2.0f;  // where x = x / 2 + 1 ends
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
