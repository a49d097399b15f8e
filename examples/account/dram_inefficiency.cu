// A copy while L2 is full of what was written before. Teaches that DRAM loses time between reads and writes.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kBlocks = 1024, kThreads = 256, kVectors = kBlocks * kThreads;
constexpr size_t kScratch = 64 << 20;  // more than fits into L2

__global__ void produce(int4 *out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = make_int4(i, 1, 2, 3);
}

__global__ void copy(const int4 *in, int4 *out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  out[i] = in[i];
}

int main() {
  int4 *in, *out;
  void *scratch;
  cudaMalloc(&in, kVectors * sizeof(int4));
  cudaMalloc(&out, kVectors * sizeof(int4));
  cudaMalloc(&scratch, kScratch);
  produce<<<kBlocks, kThreads>>>(in);
  cudaMemset(scratch, 0, kScratch);  // pushes `in` out of L2; from now on each line written sends an older one to DRAM
  copy<<<kBlocks, kThreads>>>(in, out);
  std::vector<int4> got(kVectors);
  cudaMemcpy(got.data(), out, kVectors * sizeof(int4), cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < kVectors; i++) bad += got[i].x != i || got[i].w != 3;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
