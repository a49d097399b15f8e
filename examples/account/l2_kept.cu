// One kernel writes 8 MB, the next reads them. Teaches what it is worth to find one's input in L2.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kBlocks = 512, kThreads = 256, kEach = 4, kAll = kBlocks * kThreads;
__device__ int4 data[kEach * kAll];
__device__ int sums[kAll];

__global__ void produce() {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < kEach * kAll; i += kAll) data[i] = make_int4(i, 1, 2, 3);
}

__global__ void consume() {
  const int first = blockIdx.x * kThreads + threadIdx.x;
  int sum = 0;
  for (int i = 0; i < kEach; i++) {
    const int4 v = data[i * kAll + first];
    sum += v.x + v.y + v.z + v.w;
  }
  sums[first] = sum;
}

int main() {
  produce<<<kBlocks, kThreads>>>();
  consume<<<kBlocks, kThreads>>>();
  static int got[kAll];
  cudaMemcpyFromSymbol(got, sums, sizeof got);
  int bad = 0;
  for (int i = 0; i < kAll; i++) bad += got[i] != 4 * (i + 6) + 6 * kAll;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
