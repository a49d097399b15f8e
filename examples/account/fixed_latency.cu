// One warp, each step needing the one before. Teaches that a dependent instruction waits for a fixed number of cycles.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kSteps = 4096;
__device__ float out[32];

__global__ void chain(float factor) {
  float x = threadIdx.x;
#pragma unroll 64
  for (int i = 0; i < kSteps; i++) x = x * factor + 1.0f;
  out[threadIdx.x] = x;
}

int main() {
  chain<<<1, 32>>>(0.5f);
  float got[32];
  cudaMemcpyFromSymbol(got, out, sizeof got);
  int bad = 0;
  for (float x : got) bad += x != 2.0f;  // where x = x / 2 + 1 ends
  printf("x=%.1f bad=%d %s\n", got[0], bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
