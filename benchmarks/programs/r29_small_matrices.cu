// Many small matrices, and dense steps: inverses, LU by half warps, Cholesky by blocks, shortest paths, columns, rank updates.
#include "expect.cuh"
#include <algorithm>

// A 4 x 4 matrix a thread, read as four vectors; its adjugate over its determinant.
__global__ void inverse4(const float4 *in, float4 *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 a = in[i * 4], b = in[i * 4 + 1], c = in[i * 4 + 2], d = in[i * 4 + 3];
  float s0 = a.x * b.y - b.x * a.y, s1 = a.x * b.z - b.x * a.z, s2 = a.x * b.w - b.x * a.w;
  float s3 = a.y * b.z - b.y * a.z, s4 = a.y * b.w - b.y * a.w, s5 = a.z * b.w - b.z * a.w;
  float c5 = c.z * d.w - d.z * c.w, c4 = c.y * d.w - d.y * c.w, c3 = c.y * d.z - d.y * c.z;
  float c2 = c.x * d.w - d.x * c.w, c1 = c.x * d.z - d.x * c.z, c0 = c.x * d.y - d.x * c.y;
  float f = 1.0f / (s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0);
  out[i * 4] = make_float4((b.y * c5 - b.z * c4 + b.w * c3) * f, (-a.y * c5 + a.z * c4 - a.w * c3) * f,
                           (d.y * s5 - d.z * s4 + d.w * s3) * f, (-c.y * s5 + c.z * s4 - c.w * s3) * f);
  out[i * 4 + 1] = make_float4((-b.x * c5 + b.z * c2 - b.w * c1) * f, (a.x * c5 - a.z * c2 + a.w * c1) * f,
                               (-d.x * s5 + d.z * s2 - d.w * s1) * f, (c.x * s5 - c.z * s2 + c.w * s1) * f);
  out[i * 4 + 2] = make_float4((b.x * c4 - b.y * c2 + b.w * c0) * f, (-a.x * c4 + a.y * c2 - a.w * c0) * f,
                               (d.x * s4 - d.y * s2 + d.w * s0) * f, (-c.x * s4 + c.y * s2 - c.w * s0) * f);
  out[i * 4 + 3] = make_float4((-b.x * c3 + b.y * c1 - b.z * c0) * f, (a.x * c3 - a.y * c1 + a.z * c0) * f,
                               (-d.x * s3 + d.y * s1 - d.z * s0) * f, (c.x * s3 - c.y * s1 + c.z * s0) * f);
}

// 16 x 16 a half warp, a column a thread in registers; multipliers are passed on by shuffles.
__global__ void lu16(float *m) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, column = i % 16;
  float *mine = m + i / 16 * 256, v[16];
#pragma unroll
  for (int r = 0; r < 16; r++) v[r] = mine[r * 16 + column];
#pragma unroll
  for (int k = 0; k < 15; k++) {
    float pivot = 1.0f / __shfl_sync(~0u, v[k], k, 16);
#pragma unroll
    for (int r = k + 1; r < 16; r++) {
      float factor = __shfl_sync(~0u, v[r], k, 16) * pivot;
      v[r] = column > k ? v[r] - factor * v[k] : column == k ? factor : v[r];
    }
  }
#pragma unroll
  for (int r = 0; r < 16; r++) mine[r * 16 + column] = v[r];
}

// 32 x 32 a block of as many threads: two barriers a column.
__global__ void cholesky32(float *m) {
  __shared__ float s[32][33];
  int x = threadIdx.x, y = threadIdx.y, at = blockIdx.x * 1024 + y * 32 + x;
  s[y][x] = m[at];
  __syncthreads();
  for (int k = 0; k < 32; k++) {
    float root = sqrtf(s[k][k]);
    __syncthreads();
    if (x == k && y >= k) s[y][k] = y == k ? root : s[y][k] / root;
    __syncthreads();
    if (x > k && y >= x) s[y][x] -= s[y][k] * s[x][k];
    __syncthreads();
  }
  m[at] = x <= y ? s[y][x] : 0;
}

// One step of Floyd and Warshall; and the step of a whole tile of 32 by the tiles left and above.
__global__ void through(int *dist, int k, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  int by = dist[y * n + k] + dist[k * n + x];
  if (by < dist[y * n + x]) dist[y * n + x] = by;
}

__global__ void through_tile(const int *left, const int *above, int *out, int n) {
  __shared__ int a[32][33], b[32][32];
  int x = threadIdx.x, column = blockIdx.x * 32 + x;
  for (int y = threadIdx.y; y < 32; y += 8) {
    a[y][x] = left[(blockIdx.y * 32 + y) * 32 + x];
    b[y][x] = above[y * n + column];
  }
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8) {
    int best = 1 << 30;
#pragma unroll
    for (int k = 0; k < 32; k++) best = min(best, a[y][k] + b[k][x]);
    out[(blockIdx.y * 32 + y) * n + column] = best;
  }
}

// y = A^T x over row-major A: a block 64 columns and a slice of rows, sums in shared memory, then atomics.
__global__ void gemv_columns(const float *a, const float *x, float *y, int columns, int slice) {
  __shared__ float part[4][64];
  int c = blockIdx.x * 64 + threadIdx.x, r0 = blockIdx.y * slice;
  float sum = 0;
  for (int r = r0 + threadIdx.y; r < r0 + slice; r += 4) sum += a[size_t(r) * columns + c] * x[r];
  part[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y) return;
  for (int k = 1; k < 4; k++) sum += part[k][threadIdx.x];
  atomicAdd(&y[c], sum);
}

__global__ void rank_one(float4 *a, const float *x, const float4 *y, int width4) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  float4 v = a[r * width4 + c], w = y[c];
  float f = x[r];
  v.x += f * w.x, v.y += f * w.y, v.z += f * w.z, v.w += f * w.w;
  a[r * width4 + c] = v;
}

int main() {
  const int n = 1 << 19, size = 512;
  std::vector<float> h = random_host<float>(n), m(h), want(n, 0.0f);
  float *out = zeros<float>(n);
  for (int i = 0; i < n; i++) m[i] = h[i] / 16 + (i % 16 % 5 == 0 ? 8 : 0);
  float *in = upload(m);
  inverse4<<<n / 16 / 128, 128>>>((float4 *)in, (float4 *)out, n / 16);
  std::vector<float> inverse = download(out, n);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 4; k++) want[i] += m[i / 4 * 4 + k] * inverse[i / 16 * 16 + k * 4 + i % 4];
  std::vector<float> one(n, 0.0f);
  for (int i = 0; i < n; i++) one[i] = i % 16 % 5 == 0;
  expect("inverse4", upload(want), one, 1e-4);
  for (int i = 0; i < n; i++) m[i] = h[i] / 16 + (i % 256 % 17 == 0 ? 32 : 0);
  in = upload(m), want = m;
  lu16<<<n / 16 / 128, 128>>>(in);
  for (int b = 0; b < n; b += 256)
    for (int k = 0; k < 15; k++)
      for (int r = k + 1; r < 16; r++) {
        float f = want[b + r * 16 + k] /= want[b + k * 17];
        for (int c = k + 1; c < 16; c++) want[b + r * 16 + c] -= f * want[b + k * 16 + c];
      }
  expect("lu16", in, want, 1e-4);
  const int blocks = 200;
  m.assign(blocks * 1024, 0), want.assign(blocks * 1024, 0);
  for (int i = 0; i < blocks * 1024; i++) want[i] = i % 32 < i / 32 % 32 ? h[i] / 16 : i % 1024 % 33 == 0 ? 4 + i % 3 : 0;
  for (int i = 0; i < blocks * 1024; i++)
    for (int k = 0; k < 32; k++) m[i] += want[i / 32 * 32 + k] * want[i / 1024 * 1024 + i % 32 * 32 + k];
  in = upload(m);
  cholesky32<<<blocks, dim3(32, 32)>>>(in);
  expect("cholesky32", in, want, 1e-3);
  std::vector<int> dist = random_host<int>(size * size, 1000), best(size * size, 1 << 30);
  int *d = upload(dist), *e = zeros<int>(size * size);
  through_tile<<<dim3(size / 32, size / 32), dim3(32, 8)>>>(d, d, e, size);
  for (int i = 0; i < size * size; i++)
    for (int k = 0; k < 32; k++) best[i] = std::min(best[i], dist[i / size * 32 + k] + dist[k * size + i % size]);
  expect("through_tile", e, best);
  for (int i = 0; i < size; i++) dist[i * size + i] = 0;
  d = upload(dist);
  through<<<dim3(size / 32, size / 8), dim3(32, 8)>>>(d, 5, size);
  for (int i = 0; i < size * size; i++) dist[i] = std::min(dist[i], dist[i / size * size + 5] + dist[5 * size + i % size]);
  expect("through", d, dist);
  float *a = upload(h), *y = zeros<float>(1024);
  gemv_columns<<<dim3(16, 8), dim3(64, 4)>>>(a, a, y, 1024, 64);
  want.assign(1024, 0);
  for (int i = 0; i < n; i++) want[i % 1024] += h[i] * h[i / 1024];
  expect("gemv_columns", y, want, 1e-4);
  float *row = upload(std::vector<float>(h.begin(), h.begin() + 1024));
  rank_one<<<dim3(1, size), 256>>>((float4 *)a, row, (float4 *)row, 256);
  want = h;
  for (int i = 0; i < n; i++) want[i] += h[i / 1024] * h[i % 1024];
  expect("rank_one", a, want, 1e-5);
}
