// Half-precision GEMM on tensor cores through wmma, one warp per 16 x 16 tile of C.
#include <cstdio>
#include <cuda_fp16.h>
#include <mma.h>
#include <vector>

using namespace nvcuda;

__global__ void gemm(const half *a, const half *b, float *c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  int row = blockIdx.y * 16, col = blockIdx.x * 16;
  wmma::fill_fragment(fc, 0.0f);
  for (int k = 0; k < n; k += 16) {
    wmma::load_matrix_sync(fa, a + row * n + k, n);
    wmma::load_matrix_sync(fb, b + col * n + k, n);
    wmma::mma_sync(fc, fa, fb, fc);
  }
  wmma::store_matrix_sync(c + row * n + col, fc, n, wmma::mem_row_major);
}

int main() {
  const int n = 64;
  std::vector<half> a(n * n), b(n * n);
  std::vector<float> c(n * n);
  for (int i = 0; i < n * n; i++) a[i] = __float2half(float(i % 9 - 4)), b[i] = __float2half(float(i % 5 - 2) / 4);
  half *d_a, *d_b;
  float *d_c;
  cudaMalloc(&d_a, n * n * sizeof(half));
  cudaMalloc(&d_b, n * n * sizeof(half));
  cudaMalloc(&d_c, n * n * sizeof(float));
  cudaMemcpy(d_a, a.data(), n * n * sizeof(half), cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), n * n * sizeof(half), cudaMemcpyHostToDevice);
  gemm<<<dim3(n / 16, n / 16), 32>>>(d_a, d_b, d_c, n);
  cudaMemcpy(c.data(), d_c, n * n * sizeof(float), cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float want = 0;  // quarters of small integers: exact
      for (int k = 0; k < n; k++) want += __half2float(a[i * n + k]) * __half2float(b[j * n + k]);
      bad += c[i * n + j] != want;
    }
  printf("c[0]=%.2f c[n*n-1]=%.2f bad=%d %s\n", c[0], c[n * n - 1], bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
