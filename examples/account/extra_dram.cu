// Every second sector of an array. Teaches that DRAM moves 64 bytes at a time, whoever asks for 32 of them.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kBlocks = 1024, kThreads = 256, kVectors = kBlocks * kThreads;  // two vectors of 16 bytes a sector

__global__ void every_second(const int4 *in, int *out) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const int4 v = in[i / 2 * 4 + i % 2];
  out[i] = v.x + v.y + v.z + v.w;
}

int main() {
  std::vector<int> in(kVectors * 8, 1), got(kVectors);
  int4 *d_in;
  int *d_out, bad = 0;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, got.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  every_second<<<kBlocks, kThreads>>>(d_in, d_out);
  cudaMemcpy(got.data(), d_out, got.size() * sizeof(int), cudaMemcpyDeviceToHost);
  for (int sum : got) bad += sum != 4;
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
