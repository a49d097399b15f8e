// Sparse matrices in other forms than rows: ELL, coordinates, 4 x 4 blocks, by many columns, sampled products, levels.
#include "expect.cuh"

// Column-major slots: slot k of row r at k * rows + r, unused ones with column -1.
__global__ void ell(const int *column, const float *value, const float *x, float *y, int rows, int slots) {
  int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0;
  for (int k = 0; k < slots; k++) {
    int c = column[k * rows + r];
    if (c >= 0) sum += value[k * rows + r] * x[c];
  }
  y[r] = sum;
}

__global__ void coordinates(const int *row, const int *column, const float *value, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&y[row[i]], value[i] * x[column[i]]);
}

// The same with rows in order: sums by segments within a warp, an atomic add only where a row ends.
__global__ void coordinates_segmented(const int *row, const int *column, const float *value, const float *x, float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, mine = i < n ? row[i] : -1;
  float sum = i < n ? value[i] * x[column[i]] : 0;
  for (int d = 1; d < 32; d <<= 1) {
    float other = __shfl_up_sync(~0u, sum, d);
    int its = __shfl_up_sync(~0u, mine, d);
    if (lane >= d && its == mine) sum += other;
  }
  int next = __shfl_down_sync(~0u, mine, 1);
  if (mine >= 0 && (lane == 31 || next != mine)) atomicAdd(&y[mine], sum);
}

// Blocks of 4 x 4, a quarter warp each: a thread a row of the block and half its columns.
__global__ void blocked(const int *start, const int *column, const float *value, const float *x, float *y, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, row = i / 8, r = i % 8 / 2, half = i % 2;
  if (row >= rows) return;
  float sum = 0;
  for (int b = start[row]; b < start[row + 1]; b++) {
    float2 v = ((const float2 *)value)[b * 8 + r * 2 + half], f = ((const float2 *)x)[column[b] * 2 + half];
    sum += v.x * f.x + v.y * f.y;
  }
  sum += __shfl_xor_sync(~0u, sum, 1);
  if (half == 0) y[row * 4 + r] = sum;
}

// By a dense matrix of 32 columns: a warp a row; its columns and values are passed on by shuffles.
__global__ void by_dense(const int *start, const int *column, const float *value, const float *x, float *y, int rows) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  float sum = 0;
  for (int from = start[row], to = start[row + 1]; from < to; from += 32) {
    int c = from + lane < to ? column[from + lane] : 0, count = min(32, to - from);
    float v = from + lane < to ? value[from + lane] : 0;
    for (int k = 0; k < count; k++) sum += __shfl_sync(~0u, v, k) * x[__shfl_sync(~0u, c, k) * 32 + lane];
  }
  y[row * 32 + lane] = sum;
}

// For each entry the product of two dense rows of 32, eight threads with four values each.
__global__ void sampled(const int *row, const int *column, const float4 *a, const float4 *b, float *out, int n) {
  int i = (blockIdx.x * blockDim.x + threadIdx.x) / 8, part = threadIdx.x % 8;
  if (i >= n) return;
  float4 p = a[row[i] * 8 + part], q = b[column[i] * 8 + part];
  float sum = p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
  for (int d = 4; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d, 8);
  if (part == 0) out[i] = sum;
}

int main() {
  const int rows = 1 << 14, slots = 24;
  Random random;
  std::vector<int> start(rows + 1), row, column, slot(rows * slots, -1);
  std::vector<float> value, padded(rows * slots), x = random_host<float>(rows * 32), want(rows), wide(rows * 32);
  for (int r = 0; r < rows; r++) {
    for (int k = 0, count = 8 + random.next() % 17; k < count; k++) {
      int c = k % 2 ? random.next() % rows : (r + k) % rows;
      slot[k * rows + r] = c, padded[k * rows + r] = k % 5;
      row.push_back(r), column.push_back(c), value.push_back(k % 5);
      want[r] += (k % 5) * x[c];
      for (int j = 0; j < 32; j++) wide[r * 32 + j] += (k % 5) * x[c * 32 + j];
    }
    start[r + 1] = int(row.size());
  }
  int n = int(row.size()), *ds = upload(start), *dr = upload(row), *dc = upload(column);
  float *dv = upload(value), *dx = upload(x), *y = zeros<float>(rows * 32);
  ell<<<rows / 128, 128>>>(upload(slot), upload(padded), dx, y, rows, slots);
  expect("ell", y, want, 1e-5);
  CHECK(cudaMemset(y, 0, rows * 4));
  coordinates<<<(n + 255) / 256, 256>>>(dr, dc, dv, dx, y, n);
  expect("coordinates", y, want, 1e-5);
  CHECK(cudaMemset(y, 0, rows * 4));
  coordinates_segmented<<<(n + 255) / 256, 256>>>(dr, dc, dv, dx, y, n);
  expect("coordinates_segmented", y, want, 1e-5);
  by_dense<<<rows / 4, 128>>>(ds, dc, dv, dx, y, rows);
  expect("by_dense", y, wide, 1e-5);
  std::vector<float> dots(n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < 32; j++) dots[i] += x[row[i] * 32 + j] * x[column[i] * 32 + j];
  float *out = zeros<float>(n);
  sampled<<<(n + 31) / 32, 256>>>(dr, dc, (float4 *)dx, (float4 *)dx, out, n);
  expect("sampled", out, dots, 1e-5);
  // The first quarter of the pattern again, each entry now a block of 4 x 4.
  const int quarter = rows / 4, used = start[quarter];
  std::vector<float> blocks = random_host<float>(used * 16, 7);
  want.assign(rows, 0);
  for (int b = 0; b < used; b++) {
    column[b] /= 4;
    for (int k = 0; k < 16; k++) want[row[b] * 4 + k / 4] += blocks[b * 16 + k] * x[column[b] * 4 + k % 4];
  }
  blocked<<<quarter * 8 / 256, 256>>>(ds, upload(column), upload(blocks), dx, y, quarter);
  expect("blocked", y, want, 1e-5);
}
