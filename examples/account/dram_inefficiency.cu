// A copy while L2 is full of what was written before. Teaches that DRAM loses time between reads and writes.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kBlocks = 4096, kThreads = 256, kVectors = kBlocks * kThreads;
constexpr size_t kScratch = 128 << 20;  // more than fits into L2
__device__ int4 in[kVectors], out[kVectors];

__global__ void produce() {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  in[i] = make_int4(i, 1, 2, 3);
}

__global__ void copy() { out[blockIdx.x * kThreads + threadIdx.x] = in[blockIdx.x * kThreads + threadIdx.x]; }

int main() {
  void *scratch;
  cudaMalloc(&scratch, kScratch);
  produce<<<kBlocks, kThreads>>>();
  cudaMemset(scratch, 0, kScratch);  // pushes `in` out of L2; from now on each line written sends an older one to DRAM
  copy<<<kBlocks, kThreads>>>();
  static int4 got[kVectors];
  cudaMemcpyFromSymbol(got, out, sizeof got);
  int bad = 0;
  for (int i = 0; i < kVectors; i++) bad += got[i].x != i || got[i].w != 3;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
