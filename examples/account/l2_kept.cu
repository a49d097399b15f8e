// One kernel writes 8 MB, the next reads them. Teaches what it is worth to find one's input in L2.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kBlocks = 512, kThreads = 256, kEach = 4, kAll = kBlocks * kThreads;

__global__ void produce(int4 *data) {
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < kEach * kAll; i += kAll) data[i] = make_int4(i, 1, 2, 3);
}

__global__ void consume(const int4 *data, int *sums) {
  const int first = blockIdx.x * kThreads + threadIdx.x;
  int sum = 0;
#pragma unroll
  for (int i = 0; i < kEach; i++) {
    const int4 v = data[i * kAll + first];
    sum += v.x + v.y + v.z + v.w;
  }
  sums[first] = sum;
}

int main() {
  int4 *data;
  int *sums, bad = 0;
  cudaMalloc(&data, kEach * kAll * sizeof(int4));
  cudaMalloc(&sums, kAll * sizeof(int));
  produce<<<kBlocks, kThreads>>>(data);
  consume<<<kBlocks, kThreads>>>(data, sums);
  std::vector<int> got(kAll);
  cudaMemcpy(got.data(), sums, kAll * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < kAll; i++) bad += got[i] != 4 * (i + 6) + 6 * kAll;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
