// How long lanes that look for their like take, by how many different values they hold.
#include "common.cuh"

constexpr int kSteps = 64;

__global__ void match(int different, long long *out, int *keep) {
  unsigned value = threadIdx.x % 32 % different, found = 0;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < kSteps; k++)
    asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(found) : "r"(value));
  sink(int(found), keep);
  __syncthreads();
  if (threadIdx.x == 0) *out = clock64() - start;
}

int main() {
  long long *d;
  CK(cudaMalloc(&d, 256));
  char name[32];
  for (int warps : {1, 32})
    for (int different : {1, 2, 4, 8, 16, 32}) {
      for (int r = 0; r < 2; r++) match<<<1, warps * 32>>>(different, d, (int *)(d + 4));
      snprintf(name, sizeof name, "match_warps%d", warps);
      report("match", name, different, mean_cycles(d, 1) / kSteps);
    }
  return 0;
}
