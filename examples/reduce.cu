// Sum of a million integers, one block's tree at a time. Teaches shared memory, __syncthreads and idle lanes.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void reduce(const int *in, int *out, int n) {
  __shared__ int partial[kThreads];
  int sum = 0;
  for (int i = blockIdx.x * kThreads + threadIdx.x; i < n; i += gridDim.x * kThreads) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

int main() {
  const int n = 1 << 20, blocks = 128;
  std::vector<int> in(n), out(blocks);
  long long want = 0;
  for (int i = 0; i < n; i++) want += in[i] = i % 1000;

  int *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, blocks * sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  reduce<<<blocks, kThreads>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, blocks * sizeof(int), cudaMemcpyDeviceToHost);

  long long got = 0;
  for (int v : out) got += v;
  printf("sum=%lld want=%lld %s\n", got, want, got == want ? "PASS" : "FAIL");
  cudaFree(d_in);
  cudaFree(d_out);
  return got != want;
}
