// Transforms: Fourier by radix 4 in shared memory and by shuffles in a warp, Walsh, cosines of 8 x 8, a polynomial product.
#include "expect.cuh"
#include <complex>

__device__ float2 times(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }
__device__ float2 plus(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }
__device__ float2 minus(float2 a, float2 b) { return make_float2(a.x - b.x, a.y - b.y); }

// 1024 points a block of 256 threads, five passes of radix 4 that leave the natural order (Stockham).
__global__ void fft1024(const float2 *in, float2 *out) {
  __shared__ float2 s[1024];
  int t = threadIdx.x;
  float2 v[4];
  for (int k = 0; k < 4; k++) v[k] = in[blockIdx.x * 1024 + k * 256 + t];
  for (int done = 1; done < 1024; done *= 4) {
    int j = t % done;
    float angle = -6.2831853f * j / (done * 4), sine, cosine;
    for (int k = 1; k < 4; k++) {
      __sincosf(angle * k, &sine, &cosine);
      v[k] = times(v[k], make_float2(cosine, sine));
    }
    float2 a = plus(v[0], v[2]), b = minus(v[0], v[2]), c = plus(v[1], v[3]), d = minus(v[1], v[3]);
    int at = (t - j) * 4 + j;
    __syncthreads();
    s[at] = plus(a, c), s[at + done] = make_float2(b.x + d.y, b.y - d.x);
    s[at + 2 * done] = minus(a, c), s[at + 3 * done] = make_float2(b.x - d.y, b.y + d.x);
    __syncthreads();
    for (int k = 0; k < 4; k++) v[k] = s[k * 256 + t];
  }
  for (int k = 0; k < 4; k++) out[blockIdx.x * 1024 + k * 256 + t] = v[k];
}

// 32 points a warp, exchanged by shuffles; results end up with their bits reversed.
__global__ void fft32(const float2 *in, float2 *out, const float2 *twiddle) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  float2 v = in[i];
#pragma unroll
  for (int d = 16; d; d >>= 1) {
    float2 other = make_float2(__shfl_xor_sync(~0u, v.x, d), __shfl_xor_sync(~0u, v.y, d));
    v = lane & d ? times(minus(other, v), twiddle[(lane & (d - 1)) * (16 / d)]) : plus(v, other);
  }
  out[i / 32 * 32 + (__brev(lane) >> 27)] = v;
}

// 4096 points a block, twelve barriers.
__global__ void walsh(const float *in, float *out) {
  __shared__ float s[4096];
  for (int i = threadIdx.x; i < 4096; i += 512) s[i] = in[blockIdx.x * 4096 + i];
  for (int d = 2048; d; d >>= 1) {
    __syncthreads();
    for (int p = threadIdx.x; p < 2048; p += 512) {
      int i = p / d * 2 * d + p % d;
      float a = s[i], b = s[i + d];
      s[i] = a + b, s[i + d] = a - b;
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 4096; i += 512) out[blockIdx.x * 4096 + i] = s[i];
}

__constant__ float cosines[64];

// Four tiles of 8 x 8 a block, rows then columns.
__global__ void dct8(const float *in, float *out, int w) {
  __shared__ float a[4][8][9], b[4][8][9];
  int tile = threadIdx.x / 8, u = threadIdx.x % 8, y = threadIdx.y, at = (blockIdx.y * 8 + y) * w + blockIdx.x * 32 + threadIdx.x;
  a[tile][y][u] = in[at];
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 8; k++) sum += cosines[u * 8 + k] * a[tile][y][k];
  b[tile][y][u] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; k++) sum += cosines[y * 8 + k] * b[tile][k][u];
  out[at] = sum;
}

// One pass of a number-theoretic transform modulo 998244353 over global memory.
__global__ void ntt_pass(unsigned *v, const unsigned *roots, int half, int n) {
  int p = blockIdx.x * blockDim.x + threadIdx.x, i = p / half * 2 * half + p % half;
  const unsigned m = 998244353;
  unsigned a = v[i], b = unsigned((unsigned long long)v[i + half] * roots[p % half * (n / 2 / half)] % m);
  v[i] = a + b >= m ? a + b - m : a + b;
  v[i + half] = a >= b ? a - b : a + m - b;
}

int main() {
  const int n = 1 << 18, w = 512;
  std::vector<float> h = random_host<float>(2 * n), want(2 * n);
  float *in = upload(h), *out = zeros<float>(2 * n);
  auto fourier = [&](int points, int all, float2 *table) {  // of the first `all` values, in doubles
    std::vector<std::complex<double>> root(points);
    for (int k = 0; k < points; k++) root[k] = std::polar(1.0, -2 * M_PI * k / points);
    for (int k = 0; table && k < points / 2; k++) table[k] = make_float2(root[k].real(), root[k].imag());
    std::vector<float> result(2 * all);
    for (int i = 0; i < all; i++) {
      std::complex<double> sum = 0;
      int base = i / points * points;
      for (int k = 0; k < points; k++)
        sum += root[(long long)(i - base) * k % points] * std::complex<double>(h[2 * (base + k)], h[2 * (base + k) + 1]);
      result[2 * i] = sum.real(), result[2 * i + 1] = sum.imag();
    }
    return result;
  };
  fft1024<<<n / 1024, 256>>>((float2 *)in, (float2 *)out);
  expect("fft1024", out, fourier(1024, 4096, nullptr), 1e-2);
  std::vector<float2> table(16);
  std::vector<float> small = fourier(32, n, table.data());
  fft32<<<n / 256, 256>>>((float2 *)in, (float2 *)out, upload(table));
  expect("fft32", out, small, 1e-3);
  walsh<<<2 * n / 4096, 512>>>(in, out);
  want = h;
  for (int d = 2048; d; d >>= 1)
    for (int i = 0; i < 2 * n; i++)
      if (!(i & d)) {
        float a = want[i], b = want[i + d];
        want[i] = a + b, want[i + d] = a - b;
      }
  expect("walsh", out, want, 1e-5);
  std::vector<float> c(64), rows(n);
  for (int i = 0; i < 64; i++) c[i] = (i < 8 ? std::sqrt(0.125) : 0.5) * std::cos((i % 8 + 0.5) * (i / 8) * M_PI / 8);
  CHECK(cudaMemcpyToSymbol(cosines, c.data(), 256));
  dct8<<<dim3(w / 32, n / w / 8), dim3(32, 8)>>>(in, out, w);
  want.assign(n, 0);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 8; k++) rows[i] += c[i % 8 * 8 + k] * h[i / 8 * 8 + k];
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 8; k++) want[i] += c[i / w % 8 * 8 + k] * rows[(i / w / 8 * 8 + k) * w + i % w];
  expect("dct8", out, want, 1e-4);
  const unsigned m = 998244353;
  std::vector<unsigned> v = random_host<unsigned>(n, m), roots(n / 2, 1);
  unsigned long long root = 1, base = 3, power = (m - 1) / n;
  for (; power; power >>= 1, base = base * base % m)
    if (power & 1) root = root * base % m;
  for (int i = 1; i < n / 2; i++) roots[i] = unsigned(roots[i - 1] * root % m);
  unsigned *dv = upload(v), *dr = upload(roots);
  for (int half : {1, 64, n / 2}) {
    ntt_pass<<<n / 2 / 256, 256>>>(dv, dr, half, n);
    for (int p = 0; p < n / 2; p++) {
      int i = p / half * 2 * half + p % half;
      unsigned long long a = v[i], b = (unsigned long long)v[i + half] * roots[p % half * (n / 2 / half)] % m;
      v[i] = unsigned((a + b) % m), v[i + half] = unsigned((a + m - b) % m);
    }
    expect("ntt_pass", dv, v);
  }
}
