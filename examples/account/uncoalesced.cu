// Each thread sums a row of a matrix, so that a warp reads 32 rows at once. Teaches what a sector a lane costs.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kRows = 1 << 14, kColumns = 32;

__global__ void row_sums(const int *in, int *out) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int i = 0; i < kColumns; i++) sum += __ldcg(&in[row * kColumns + i]);  // past L1, which would hide it
  out[row] = sum;
}

int main() {
  std::vector<int> in(kRows * kColumns), got(kRows);
  for (int i = 0; i < kRows * kColumns; i++) in[i] = i % 7;
  int *d_in, *d_out, bad = 0;
  cudaMalloc(&d_in, in.size() * sizeof(int));
  cudaMalloc(&d_out, got.size() * sizeof(int));
  cudaMemcpy(d_in, in.data(), in.size() * sizeof(int), cudaMemcpyHostToDevice);
  row_sums<<<kRows / 128, 128>>>(d_in, d_out);
  cudaMemcpy(got.data(), d_out, got.size() * sizeof(int), cudaMemcpyDeviceToHost);
  for (int row = 0; row < kRows; row++) {
    int want = 0;
    for (int i = 0; i < kColumns; i++) want += in[row * kColumns + i];
    bad += got[row] != want;
  }
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
