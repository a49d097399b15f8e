// Matrix products: register tiles, asynchronous copies, tensor cores through shared memory, double precision.
#include "common.cuh"
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
using namespace nvcuda;

__global__ void register_tile(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][64], bs[16][64];
  int tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.y * 64, column = blockIdx.x * 64;
  float sum[4][4] = {};
  for (int k = 0; k < n; k += 16) {
    for (int i = threadIdx.x; i < 1024; i += 256) {
      as[i % 16][i / 16] = a[(row + i / 16) * n + k + i % 16];
      bs[i / 64][i % 64] = b[(k + i / 64) * n + column + i % 64];
    }
    __syncthreads();
    for (int p = 0; p < 16; p++) {
      float l[4], r[4];
      for (int i = 0; i < 4; i++) l[i] = as[p][ty * 4 + i], r[i] = bs[p][tx * 4 + i];
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] += l[i] * r[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) c[(row + ty * 4 + i) * n + column + tx * 4 + j] = sum[i][j];
}

__global__ void async_tile(const float *a, const float *b, float *c, int n) {
  __shared__ float as[2][32][32], bs[2][32][32];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 32, column = blockIdx.x * 32;
  auto fetch = [&](int stage, int k) {
    for (int i = y; i < 32; i += 8) {
      __pipeline_memcpy_async(&as[stage][i][x], &a[(row + i) * n + k + x], 4);
      __pipeline_memcpy_async(&bs[stage][i][x], &b[(k + i) * n + column + x], 4);
    }
    __pipeline_commit();
  };
  float sum[4] = {};
  fetch(0, 0);
  for (int k = 0, stage = 0; k < n; k += 32, stage ^= 1) {
    if (k + 32 < n) fetch(stage ^ 1, k + 32);
    __pipeline_wait_prior(k + 32 < n ? 1 : 0);
    __syncthreads();
    for (int p = 0; p < 32; p++)
      for (int i = 0; i < 4; i++) sum[i] += as[stage][y + 8 * i][p] * bs[stage][p][x];
    __syncthreads();
  }
  for (int i = 0; i < 4; i++) c[(row + y + 8 * i) * n + column + x] = sum[i];
}

__global__ void tensor_tile(const __half *a, const __half *b, float *c, int n) {
  __shared__ __half as[64][40], bs[32][72];
  int warp = threadIdx.x / 32, row = blockIdx.y * 64, column = blockIdx.x * 64;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[4];
  for (auto &s : sum) wmma::fill_fragment(s, 0.0f);
  for (int k = 0; k < n; k += 32) {
    for (int i = threadIdx.x; i < 64 * 32 / 8; i += 128) {
      *(int4 *)&as[i / 4][i % 4 * 8] = *(const int4 *)&a[(row + i / 4) * n + k + i % 4 * 8];
      *(int4 *)&bs[i / 8][i % 8 * 8] = *(const int4 *)&b[(k + i / 8) * n + column + i % 8 * 8];
    }
    __syncthreads();
    for (int p = 0; p < 32; p += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> l;
      wmma::load_matrix_sync(l, &as[warp * 16][p], 40);
      for (int j = 0; j < 4; j++) {
        wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major> r;
        wmma::load_matrix_sync(r, &bs[p][j * 16], 72);
        wmma::mma_sync(sum[j], l, r, sum[j]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < 4; j++)
    wmma::store_matrix_sync(&c[(row + warp * 16) * n + column + j * 16], sum[j], n, wmma::mem_row_major);
}

__global__ void dgemm(const double *a, const double *b, double *c, int n) {
  __shared__ double as[16][16], bs[16][16];
  int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  double sum = 0;
  for (int k = 0; k < n; k += 16) {
    as[y][x] = a[row * n + k + x];
    bs[y][x] = b[(k + y) * n + column];
    __syncthreads();
    for (int p = 0; p < 16; p++) sum += as[y][p] * bs[p][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

int main() {
  const int n = 512;
  float *a = randoms<float>(n * n), *b = randoms<float>(n * n), *c = zeros<float>(n * n);
  register_tile<<<dim3(n / 64, n / 64), 256>>>(a, b, c, n);
  done("register_tile", c, n * n);
  async_tile<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(a, b, c, n);
  done("async_tile", c, n * n);
  tensor_tile<<<dim3(n / 64, n / 64), 128>>>((__half *)a, (__half *)b, c, n);
  double *da = randoms<double>(n * n), *db = randoms<double>(n * n), *dc = zeros<double>(n * n);
  dgemm<<<dim3(n / 32, n / 32), dim3(16, 16)>>>(da, db, dc, n);
  done("dgemm", dc, n * n / 4);
}
