// Each thread sums a row of a matrix, so that a warp reads 32 rows at once. Teaches what a sector a lane costs.
#include <cstdio>

#include <cuda_runtime.h>

constexpr int kRows = 1 << 14, kColumns = 32;
__device__ int in[kRows * kColumns], out[kRows];

__global__ void row_sums() {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = 0;
  for (int i = 0; i < kColumns; i++) sum += __ldcg(&in[row * kColumns + i]);  // past L1, which would hide it
  out[row] = sum;
}

int main() {
  static int values[kRows * kColumns], got[kRows];
  for (int i = 0; i < kRows * kColumns; i++) values[i] = i % 7;
  cudaMemcpyToSymbol(in, values, sizeof values);
  row_sums<<<kRows / 128, 128>>>();
  cudaMemcpyFromSymbol(got, out, sizeof got);
  int bad = 0;
  for (int row = 0; row < kRows; row++) {
    int want = 0;
    for (int i = 0; i < kColumns; i++) want += values[row * kColumns + i];
    bad += got[row] != want;
  }
  printf("bad=%d %s\n", bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
