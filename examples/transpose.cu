// A 1024 x 1024 transpose through a padded shared tile. Teaches coalescing both ways and why the tile is 33 wide.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kTile = 32, kRows = 8;

__global__ void transpose(const float *in, float *out, int n) {
  __shared__ float tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * n + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int j = 0; j < kTile; j += kRows) out[(y + j) * n + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  const int n = 1024;
  const size_t bytes = size_t(n) * n * sizeof(float);
  std::vector<float> in(n * n), out(n * n);
  for (int i = 0; i < n * n; i++) in[i] = float(i);

  float *d_in, *d_out;
  cudaMalloc(&d_in, bytes);
  cudaMalloc(&d_out, bytes);
  cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
  transpose<<<dim3(n / kTile, n / kTile), dim3(kTile, kRows)>>>(d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost);

  int bad = 0;
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++) bad += out[r * n + c] != in[c * n + r];
  printf("out[1]=%.0f bad=%d %s\n", out[1], bad, bad ? "FAIL" : "PASS");
  cudaFree(d_in);
  cudaFree(d_out);
  return bad != 0;
}
