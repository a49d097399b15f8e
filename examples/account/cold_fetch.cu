// Eight thousand different instructions, each run once. Teaches that code has to come from DRAM before it can run.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kSteps = 4096;
__device__ unsigned out[32];

__host__ __device__ unsigned straight(unsigned x) {
  unsigned y = x + 1, z = x + 2, w = x + 3;
#pragma unroll
  for (unsigned i = 0; i < kSteps; i += 4) {
    x = (x ^ (i * 2654435761u)) + y;
    y = (y ^ (i * 2246822519u)) + z;
    z = (z ^ (i * 3266489917u)) + w;
    w = (w ^ (i * 668265263u)) + x;
  }
  return x ^ y ^ z ^ w;
}

__global__ void once() { out[threadIdx.x] = straight(threadIdx.x); }

int main() {
  once<<<132, 32>>>();
  unsigned got[32], bad = 0;
  cudaMemcpyFromSymbol(got, out, sizeof got);
  for (unsigned i = 0; i < 32; i++) bad += got[i] != straight(i);
  printf("bad=%u %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
