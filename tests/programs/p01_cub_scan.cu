// Exclusive scan and reduction with CUB: decoupled look-back between blocks, temporary storage, tuned kernels.
#include <cstdio>
#include <vector>

#include <cub/cub.cuh>

int main() {
  const int n = 100000;
  std::vector<int> in(n), out(n);
  for (int i = 0; i < n; i++) in[i] = (i * 7919) % 101 - 50;
  int *d_in, *d_out, *d_sum;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_out, n * sizeof(int));
  cudaMalloc(&d_sum, sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);

  void *temp = nullptr;
  size_t bytes = 0;
  cub::DeviceScan::ExclusiveSum(temp, bytes, d_in, d_out, n);
  cudaMalloc(&temp, bytes);
  cudaError_t error = cub::DeviceScan::ExclusiveSum(temp, bytes, d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(temp);

  temp = nullptr;
  cub::DeviceReduce::Sum(temp, bytes, d_in, d_sum, n);
  cudaMalloc(&temp, bytes);
  cub::DeviceReduce::Sum(temp, bytes, d_in, d_sum, n);
  int sum = 0;
  cudaMemcpy(&sum, d_sum, sizeof(int), cudaMemcpyDeviceToHost);

  int want = 0, bad = 0;
  for (int i = 0; i < n; i++) {
    bad += out[i] != want;
    want += in[i];
  }
  printf("scan=%s last=%d sum=%d bad=%d %s\n", cudaGetErrorString(error), out[n - 1], sum, bad,
         bad || sum != want ? "FAIL" : "PASS");
  return bad || sum != want;
}
