// Pictures: gray, box blur both ways, bilinear resize, Sobel, median of nine, equalization, Life in packed bits.
#include "expect.cuh"
#include <algorithm>

__global__ void gray(const uchar4 *in, unsigned char *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uchar4 p = in[i];
  out[i] = (77 * p.x + 150 * p.y + 29 * p.z) >> 8;
}

// The mean of 2 R + 1 pixels of a row, the row's piece in shared memory.
template <int R> __global__ void blur_rows(const unsigned char *in, float *out, int w) {
  __shared__ float piece[256 + 2 * R];
  int x0 = blockIdx.x * 256, y = blockIdx.y;
  for (int i = threadIdx.x; i < 256 + 2 * R; i += 256) piece[i] = in[y * w + min(max(x0 + i - R, 0), w - 1)];
  __syncthreads();
  float sum = 0;
#pragma unroll
  for (int k = 0; k <= 2 * R; k++) sum += piece[threadIdx.x + k];
  out[y * w + x0 + threadIdx.x] = sum * (1.0f / (2 * R + 1));
}

// The same downwards with a running sum, each thread 32 rows of one column.
template <int R> __global__ void blur_columns(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y0 = blockIdx.y * 32;
  float sum = 0;
  for (int y = y0 - R; y < y0 + R; y++) sum += in[min(max(y, 0), h - 1) * w + x];
  for (int y = y0; y < y0 + 32; y++) {
    sum += in[min(y + R, h - 1) * w + x];
    out[y * w + x] = sum * (1.0f / (2 * R + 1));
    sum -= in[max(y - R, 0) * w + x];
  }
}

__global__ void resize(const float *in, float *out, int w, int h, int to_w, int to_h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= to_w || y >= to_h) return;
  float fx = fminf(fmaxf((x + 0.5f) * w / to_w - 0.5f, 0), w - 1), fy = fminf(fmaxf((y + 0.5f) * h / to_h - 0.5f, 0), h - 1);
  int x0 = int(fx), y0 = int(fy), x1 = min(x0 + 1, w - 1), y1 = min(y0 + 1, h - 1);
  float ax = fx - x0, ay = fy - y0;
  float top = in[y0 * w + x0] * (1 - ax) + in[y0 * w + x1] * ax, low = in[y1 * w + x0] * (1 - ax) + in[y1 * w + x1] * ax;
  out[y * to_w + x] = top * (1 - ay) + low * ay;
}

__global__ void sobel(const unsigned char *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
  const unsigned char *p = in + y * w + x;
  int gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[w - 1];
  int gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[1 - w];
  out[y * w + x] = min(abs(gx) + abs(gy), 255);
}

__host__ __device__ inline void order(int &a, int &b) {
  int low = a < b ? a : b;
  b = a < b ? b : a, a = low;
}

// The median of nine by a network of 19 exchanges.
__host__ __device__ inline int middle(int *v) {
  const int net[38] = {1, 2, 4, 5, 7, 8, 0, 1, 3, 4, 6, 7, 1, 2, 4, 5, 7, 8, 0,
                       3, 5, 8, 4, 7, 3, 6, 1, 4, 2, 5, 4, 7, 4, 2, 6, 4, 4, 2};
#pragma unroll
  for (int k = 0; k < 38; k += 2) order(v[net[k]], v[net[k + 1]]);
  return v[4];
}

__global__ void median(const unsigned char *in, unsigned char *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, v[9];
  if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
#pragma unroll
  for (int k = 0; k < 9; k++) v[k] = in[(y + k / 3 - 1) * w + x + k % 3 - 1];
  out[y * w + x] = middle(v);
}

// Four bytes a thread through a table in shared memory.
__global__ void equalize(const uchar4 *in, uchar4 *out, const unsigned char *table) {
  __shared__ unsigned char t[256];
  t[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  uchar4 p = in[blockIdx.x * 256 + threadIdx.x];
  out[blockIdx.x * 256 + threadIdx.x] = make_uchar4(t[p.x], t[p.y], t[p.z], t[p.w]);
}

// Life on a torus, 32 cells a word: sums of neighbours as bits.
__global__ void life(const unsigned *in, unsigned *out, int w, int h) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, l = (x + w - 1) % w, r = (x + 1) % w;
  unsigned ones = 0, twos = 0, fours = 0, alive = in[y * w + x];
  auto add = [&](unsigned v) {
    unsigned carry = ones & v, more = twos & carry;
    ones ^= v, twos ^= carry, fours |= more;
  };
#pragma unroll
  for (int d = -1; d <= 1; d++) {
    const unsigned *row = in + (y + d + h) % h * w;
    unsigned c = row[x];
    add(__funnelshift_l(row[l], c, 1)), add(__funnelshift_r(c, row[r], 1));
    if (d) add(c);
  }
  out[y * w + x] = ~fours & twos & (ones | alive);
}

int main() {
  const int w = 1024, h = 512, n = w * h, R = 5, to_w = 640, to_h = 360;
  using bytes = std::vector<unsigned char>;
  bytes rgba = random_host<unsigned char>(n * 4, 256), g(n), want(n, 0), table = random_host<unsigned char>(256, 256);
  unsigned char *color = upload(rgba), *one = zeros<unsigned char>(n), *two = zeros<unsigned char>(n);
  float *a = zeros<float>(n), *b = zeros<float>(n);
  auto clamp = [](int v, int top) { return v < 0 ? 0 : v > top ? top : v; };
  gray<<<n / 256, 256>>>((uchar4 *)color, one, n);
  for (int i = 0; i < n; i++) g[i] = (77 * rgba[4 * i] + 150 * rgba[4 * i + 1] + 29 * rgba[4 * i + 2]) >> 8;
  expect("gray", one, g);
  blur_rows<R><<<dim3(w / 256, h), 256>>>(one, a, w);
  std::vector<float> rows(n), both(n), small(to_w * to_h);
  for (int i = 0; i < n; i++) {
    for (int k = -R; k <= R; k++) rows[i] += g[i / w * w + clamp(i % w + k, w - 1)];
    rows[i] /= 2 * R + 1;
  }
  expect("blur_rows", a, rows, 1e-5);
  blur_columns<R><<<dim3(w / 128, h / 32), 128>>>(a, b, w, h);
  for (int i = 0; i < n; i++) {
    for (int k = -R; k <= R; k++) both[i] += rows[clamp(i / w + k, h - 1) * w + i % w];
    both[i] /= 2 * R + 1;
  }
  expect("blur_columns", b, both, 1e-4);
  resize<<<dim3(to_w / 32, to_h / 8), dim3(32, 8)>>>(b, a, w, h, to_w, to_h);
  for (int i = 0; i < to_w * to_h; i++) {
    float fx = fminf(fmaxf((i % to_w + 0.5f) * w / to_w - 0.5f, 0), w - 1);
    float fy = fminf(fmaxf((i / to_w + 0.5f) * h / to_h - 0.5f, 0), h - 1);
    int x = int(fx), y = int(fy), x1 = clamp(x + 1, w - 1), y1 = clamp(y + 1, h - 1);
    small[i] = (both[y * w + x] * (1 - fx + x) + both[y * w + x1] * (fx - x)) * (1 - fy + y) +
               (both[y1 * w + x] * (1 - fx + x) + both[y1 * w + x1] * (fx - x)) * (fy - y);
  }
  expect("resize", a, small, 1e-3);
  auto inside = [&](auto value) {
    for (int y = 1; y < h - 1; y++)
      for (int x = 1; x < w - 1; x++) want[y * w + x] = value(&g[y * w + x]);
  };
  sobel<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(one, two, w, h);
  inside([](const unsigned char *p) {
    int gx = p[1 - w] + 2 * p[1] + p[1 + w] - p[-1 - w] - 2 * p[-1] - p[w - 1];
    int gy = p[w - 1] + 2 * p[w] + p[w + 1] - p[-w - 1] - 2 * p[-w] - p[1 - w];
    return std::min(abs(gx) + abs(gy), 255);
  });
  expect("sobel", two, want);
  median<<<dim3(w / 32, h / 8), dim3(32, 8)>>>(one, two, w, h);
  inside([](const unsigned char *p) {
    int v[9];
    for (int k = 0; k < 9; k++) v[k] = p[(k / 3 - 1) * w + k % 3 - 1];
    return middle(v);
  });
  expect("median", two, want);
  equalize<<<n / 1024, 256>>>((uchar4 *)one, (uchar4 *)two, upload(table));
  for (int i = 0; i < n; i++) want[i] = table[g[i]];
  expect("equalize", two, want);
  const int lw = 64, lh = 1024;
  Random random;
  std::vector<unsigned> world(lw * lh), next(lw * lh);
  for (auto &c : world) c = random.next() ^ random.next() << 12;
  life<<<dim3(lw / 32, lh / 8), dim3(32, 8)>>>(upload(world), (unsigned *)a, lw, lh);
  auto cell = [&](int i, int j) { return world[(j + lh) % lh * lw + (i + 32 * lw) / 32 % lw] >> (i + 32) % 32 & 1; };
  for (int j = 0; j < lh; j++)
    for (int i = 0; i < 32 * lw; i++) {
      int near = 0;
      for (int k = 0; k < 9; k++) near += k == 4 ? 0 : cell(i + k % 3 - 1, j + k / 3 - 1);
      next[j * lw + i / 32] |= unsigned(near == 3 || (near == 2 && cell(i, j))) << i % 32;
    }
  expect("life", (unsigned *)a, next);
}
