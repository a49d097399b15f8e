// Shapes of work: a queue, few blocks and long loops, a barrier a step, clusters into few bins, the best of rows.
#include "expect.cuh"
#include <algorithm>

// Persistent warps take segments of very different length from a counter.
__global__ void queue(int *next, const int *start, const int *value, int *sum, int items) {
  int lane = threadIdx.x % 32;
  while (true) {
    int item = 0, total = 0;
    if (lane == 0) item = atomicAdd(next, 1);
    item = __shfl_sync(~0u, item, 0);
    if (item >= items) return;
    for (int i = start[item] + lane; i < start[item + 1]; i += 32) total += value[i] * value[i];
    total = __reduce_add_sync(~0u, total);
    if (lane == 0) sum[item] = total;
  }
}

// Eight blocks over everything.
__global__ void few_blocks(const float4 *x, float4 *y, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 v = x[i], w = y[i];
    y[i] = make_float4(a * v.x + w.x, a * v.y + w.y, a * v.z + w.z, a * v.w + w.w);
  }
}

// A recursive filter of second order, a channel a thread: each step needs the two before.
__global__ void biquad(const float *in, float *out, int channels, int steps) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  float x1 = 0, x2 = 0, y1 = 0, y2 = 0;
  for (int t = 0; t < steps; t++) {
    float x = in[t * channels + c], y = 0.2f * x + 0.4f * x1 + 0.2f * x2 + 0.5f * y1 - 0.3f * y2;
    out[t * channels + c] = y;
    x2 = x1, x1 = x, y2 = y1, y1 = y;
  }
}

// The edit distance of two strings of 256, a block a pair: a barrier each diagonal.
__global__ void edits(const char *a, const char *b, int *distance) {
  __shared__ int rows[3][257];
  __shared__ char other[256];
  int i = threadIdx.x + 1;
  char mine = a[blockIdx.x * 256 + threadIdx.x];
  other[threadIdx.x] = b[blockIdx.x * 256 + threadIdx.x];
  if (i == 1) rows[0][0] = 0, rows[1][0] = 1;
  rows[1][i] = 1;
  __syncthreads();
  for (int d = 2; d <= 512; d++) {  // cells (i, d - i)
    int j = d - i, *now = rows[d % 3], *last = rows[(d + 2) % 3], *before = rows[(d + 1) % 3];
    if (j >= 1 && j <= 256) now[i] = min(min(last[i], last[i - 1]) + 1, before[i - 1] + (mine != other[j - 1]));
    else if (j == 0) now[i] = i;
    if (i == 1) now[0] = d;
    __syncthreads();
  }
  if (i == 256) distance[blockIdx.x] = rows[512 % 3][256];
}

// The nearest of 32 centres in 8 dimensions, sums and counts by shared float atomics, then by global ones.
__global__ void nearest(const float4 *points, const float *centres, int *label, float *sums, int n) {
  __shared__ float c[32][8], s[32 * 9];
  c[threadIdx.x / 8][threadIdx.x % 8] = centres[threadIdx.x];
  for (int k = threadIdx.x; k < 288; k += 256) s[k] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
    float4 a = points[2 * i], b = points[2 * i + 1];
    float p[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w}, least = 1e30f;
    int best = 0;
    for (int k = 0; k < 32; k++) {
      float far = 0;
#pragma unroll
      for (int d = 0; d < 8; d++) far += (p[d] - c[k][d]) * (p[d] - c[k][d]);
      if (far < least) least = far, best = k;
    }
    label[i] = best;
#pragma unroll
    for (int d = 0; d < 8; d++) atomicAdd(&s[best * 9 + d], p[d]);
    atomicAdd(&s[best * 9 + 8], 1.0f);
  }
  __syncthreads();
  for (int k = threadIdx.x; k < 288; k += 256) atomicAdd(&sums[k], s[k]);
}

// The eight largest of each row of 512, a warp a row with its values in registers.
__global__ void top8(const int *in, int *out) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, v[16];
#pragma unroll
  for (int k = 0; k < 16; k++) v[k] = in[row * 512 + k * 32 + lane];
  for (int t = 0; t < 8; t++) {
    int best = -1;
#pragma unroll
    for (int k = 0; k < 16; k++) best = max(best, v[k]);
    int top = __reduce_max_sync(~0u, best);
    bool taken = lane != __ffs(__ballot_sync(~0u, best == top)) - 1;
#pragma unroll
    for (int k = 0; k < 16; k++)
      if (!taken && v[k] == top) v[k] = -1, taken = true;
    if (lane == t) out[row * 8 + t] = top;
  }
}

int main() {
  const int n = 1 << 18, items = 4096, channels = 512, steps = 256, pairs = 64, points = 1 << 15;
  Random random;
  std::vector<int> v = random_host<int>(2 * n), start(items + 1), sums(items);
  for (int i = 0; i < items; i++) start[i + 1] = start[i] + (random.next() % 16 ? random.next() % 64 : random.next() % 1024);
  for (int i = 0; i < items; i++)
    for (int k = start[i]; k < start[i + 1]; k++) sums[i] += v[k] * v[k];
  int *dv = upload(v), *out = zeros<int>(4 * n);
  queue<<<132, 128>>>(zeros<int>(1), upload(start), dv, out, items);
  expect("queue", out, sums);
  std::vector<float> x = random_host<float>(n), y(n);
  float *dx = upload(x), *dy = zeros<float>(n);
  few_blocks<<<8, 512>>>((float4 *)dx, (float4 *)dy, 3, n / 4);
  for (int i = 0; i < n; i++) y[i] = 3 * x[i];
  expect("few_blocks", dy, y);
  biquad<<<channels / 64, 64>>>(dx, dy, channels, steps);
  auto at = [&](std::vector<float> &a, int i) { return i < 0 ? 0.0f : a[i]; };
  for (int i = 0; i < channels * steps; i++)
    y[i] = 0.2f * x[i] + 0.4f * at(x, i - channels) + 0.2f * at(x, i - 2 * channels) + 0.5f * at(y, i - channels) -
           0.3f * at(y, i - 2 * channels);
  y.resize(channels * steps);
  expect("biquad", dy, y, 1e-4);
  std::vector<char> a(pairs * 256), b;
  for (auto &c : a) c = "acgt"[random.next() >> 20 & 3];
  b = a;
  for (int i = 0; i < pairs * 256; i++)
    if (random.next() % 4 == 0) b[i] = a[(i + 7) % (pairs * 256)];
  std::vector<int> distance(pairs), row(257);
  for (int p = 0; p < pairs; p++) {
    for (int j = 0; j <= 256; j++) row[j] = j;
    for (int i = 1; i <= 256; i++)
      for (int j = 1, corner = row[0]++; j <= 256; j++) {
        int next = std::min(std::min(row[j], row[j - 1]) + 1, corner + (a[p * 256 + i - 1] != b[p * 256 + j - 1]));
        corner = row[j], row[j] = next;
      }
    distance[p] = row[256];
  }
  edits<<<pairs, 256>>>(upload(a), upload(b), out);
  expect("edits", out, distance);
  std::vector<float> cloud(points * 8), bins(288);
  for (auto &p : cloud) p = random.next() >> 10 & 63;
  std::vector<int> label(points);
  for (int i = 0; i < points; i++) {
    float least = 1e30f;
    for (int k = 0; k < 32; k++) {
      float far = 0;
      for (int d = 0; d < 8; d++) far += (cloud[i * 8 + d] - cloud[k * 8 + d]) * (cloud[i * 8 + d] - cloud[k * 8 + d]);
      if (far < least) least = far, label[i] = k;
    }
    for (int d = 0; d < 8; d++) bins[label[i] * 9 + d] += cloud[i * 8 + d];
    bins[label[i] * 9 + 8]++;
  }
  float *dc = upload(cloud), *ds = zeros<float>(288);
  nearest<<<66, 256>>>((float4 *)dc, dc, out, ds, points);
  expect("nearest", out, label), expect("nearest sums", ds, bins, 1e-6);
  v = random_host<int>(n, 1 << 20);
  top8<<<n / 512 / 4, 128>>>(upload(v), out);
  std::vector<int> best(n / 512 * 8);
  for (int r = 0; r < n / 512; r++) {
    std::vector<int> all(v.begin() + r * 512, v.begin() + r * 512 + 512);
    std::sort(all.rbegin(), all.rend());
    std::copy_n(all.begin(), 8, best.begin() + r * 8);
  }
  expect("top8", out, best);
}
