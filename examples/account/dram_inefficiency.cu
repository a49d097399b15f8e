// A stream of 16 MB, read once, perfectly laid out. Teaches that DRAM does not reach its paper bandwidth: it refreshes.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kBlocks = 1024, kThreads = 256, kEach = 4;
constexpr int kVectors = kBlocks * kThreads * kEach;

__global__ void stream(const int4 *in, int *out) {
  int sum = 0;
  for (int i = 0; i < kEach; i++) {
    const int4 v = in[(i * kBlocks + blockIdx.x) * kThreads + threadIdx.x];
    sum += v.x + v.y + v.z + v.w;
  }
  out[blockIdx.x * kThreads + threadIdx.x] = sum;
}

int main() {
  std::vector<int> in(kVectors * 4, 1), got(kBlocks * kThreads);
  int4 *d_in;
  int *d_out, bad = 0;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, got.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  stream<<<kBlocks, kThreads>>>(d_in, d_out);
  cudaMemcpy(got.data(), d_out, got.size() * sizeof(int), cudaMemcpyDeviceToHost);
  for (int sum : got) bad += sum != 4 * kEach;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
