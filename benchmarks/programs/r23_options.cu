// Prices of options: the closed formula, a binomial tree with a barrier a step, Monte Carlo with two generators.
#include "expect.cuh"

__host__ __device__ inline float normal(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

__host__ __device__ inline float2 formula(float s, float k, float t, float r, float v) {
  float root = sqrtf(t), d1 = (logf(s / k) + (r + 0.5f * v * v) * t) / (v * root), d2 = d1 - v * root;
  float rest = k * expf(-r * t), call = s * normal(d1) - rest * normal(d2);
  return make_float2(call, call - s + rest);
}

__global__ void black_scholes(const float *s, const float *k, const float *t, float *call, float *put, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 both = formula(s[i], k[i], t[i], 0.02f, 0.3f);
  call[i] = both.x, put[i] = both.y;
}

// The usual polynomial for the normal distribution, with the fast functions.
__device__ float polynomial(float d) {
  float k = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
  float c = 0.39894228f * __expf(-0.5f * d * d) *
            (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0 ? 1.0f - c : c;
}

__global__ void black_scholes_fast(const float2 *s, const float2 *k, const float2 *t, float2 *call, float2 *put) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float2 a = s[i], b = k[i], c = t[i], calls, puts;
  auto one = [](float s, float k, float t, float &call, float &put) {
    float v = 0.3f, r = 0.02f, inverse = rsqrtf(t), root = __fdividef(1.0f, inverse);
    float d1 = __fdividef(__logf(__fdividef(s, k)) + (r + 0.5f * v * v) * t, v * root), d2 = d1 - v * root;
    float n1 = polynomial(d1), n2 = polynomial(d2), rest = k * __expf(-r * t);
    call = s * n1 - rest * n2, put = rest * (1 - n2) - s * (1 - n1);
  };
  one(a.x, b.x, c.x, calls.x, puts.x), one(a.y, b.y, c.y, calls.y, puts.y);
  call[i] = calls, put[i] = puts;
}

// A block an option; 255 steps back through the tree.
__global__ void binomial(const float *s, const float *k, const float *t, float *price) {
  __shared__ float value[257];
  const int steps = 255;
  int i = threadIdx.x, o = blockIdx.x;
  float dt = t[o] / steps, up = expf(0.3f * sqrtf(dt)), grow = expf(0.02f * dt), p = (grow - 1 / up) / (up - 1 / up);
  float both = 1 / grow;
  value[i] = fmaxf(s[o] * expf(0.3f * sqrtf(dt) * (2 * i - steps)) - k[o], 0);
  if (i == 0) value[256] = 0;
  __syncthreads();
  for (int n = steps; n; n--) {
    float next = both * (p * value[i + 1] + (1 - p) * value[i]);
    __syncthreads();
    if (i < n) value[i] = next;
    __syncthreads();
  }
  if (i == 0) price[o] = value[0];
}

__device__ uint4 philox(uint4 c, uint2 key) {
#pragma unroll
  for (int k = 0; k < 10; k++) {
    unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x, h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
    c = make_uint4(h1 ^ c.y ^ key.x, l1, h0 ^ c.w ^ key.y, l0);
    key.x += 0x9E3779B9u, key.y += 0xBB67AE85u;
  }
  return c;
}

// The mean payoff at the end, four normal deviates from each call of the generator.
__global__ void monte_carlo(float *mean, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int r = 0; r < rounds; r++) {
    uint4 bits = philox(make_uint4(i, r, 0, 0), make_uint2(1, 2));
    float a = sqrtf(-2 * __logf((bits.x + 1.0f) * 2.3283064e-10f)), c = sqrtf(-2 * __logf((bits.z + 1.0f) * 2.3283064e-10f));
    float sin0, cos0, sin1, cos1;
    __sincosf(bits.y * 1.4629181e-9f, &sin0, &cos0), __sincosf(bits.w * 1.4629181e-9f, &sin1, &cos1);
    float z[4] = {a * sin0, a * cos0, c * sin1, c * cos1};
#pragma unroll
    for (int k = 0; k < 4; k++) sum += fmaxf(100 * __expf(-0.025f + 0.3f * z[k]) - 100, 0);
  }
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) mean[i / 32] = sum / (rounds * 128);
}

// The mean along a walk of steps up or down by a xorshift's bits: a long chain in each thread.
__global__ void asian(float *payoff, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned state = i * 2654435761u + 88172645u;
  float s = 100, sum = 0;
  for (int k = 0; k < steps; k++) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    s *= state & 0x10000 ? 1.01f : 0.99f;
    sum += s;
  }
  payoff[i] = fmaxf(sum / steps - 100, 0);
}

int main() {
  const int n = 1 << 18, trees = 264, walks = 1 << 15;
  std::vector<float> s = random_host<float>(n, 50), k(n), t(n), call(n), put(n), tree(trees), walk(walks);
  for (int i = 0; i < n; i++) k[i] = 80 + i % 40, s[i] += 75, t[i] = 0.25f + i % 7 * 0.25f;
  float *ds = upload(s), *dk = upload(k), *dt = upload(t), *dc = zeros<float>(n), *dp = zeros<float>(n);
  for (int i = 0; i < n; i++) {
    float2 both = formula(s[i], k[i], t[i], 0.02f, 0.3f);
    call[i] = both.x, put[i] = both.y;
  }
  black_scholes<<<n / 128, 128>>>(ds, dk, dt, dc, dp, n);
  expect("call", dc, call, 1e-4), expect("put", dp, put, 1e-4);
  black_scholes_fast<<<n / 2 / 128, 128>>>((float2 *)ds, (float2 *)dk, (float2 *)dt, (float2 *)dc, (float2 *)dp);
  expect("call fast", dc, call, 1e-3), expect("put fast", dp, put, 1e-3);
  binomial<<<trees, 256>>>(ds, dk, dt, dc);
  for (int i = 0; i < trees; i++) tree[i] = call[i];
  expect("binomial", dc, tree, 1e-2);
  monte_carlo<<<264, 256>>>(dc, 16);
  std::vector<float> means = download(dc, 264 * 8);
  double mean = 0, exact = formula(100, 100, 1, 0.02f, 0.3f).x * std::exp(0.02);
  for (float m : means) mean += m / means.size();
  printf("monte_carlo %.4f, exactly %.4f %s\n", mean, exact, std::fabs(mean - exact) < 0.1 ? "ok" : "WRONG");
  asian<<<walks / 128, 128>>>(dp, 256);
  for (int i = 0; i < walks; i++) {
    unsigned state = i * 2654435761u + 88172645u;
    float at = 100, sum = 0;
    for (int j = 0; j < 256; j++) {
      state ^= state << 13, state ^= state >> 17, state ^= state << 5;
      at *= state & 0x10000 ? 1.01f : 0.99f;
      sum += at;
    }
    walk[i] = fmaxf(sum / 256 - 100, 0);
  }
  expect("asian", dp, walk, 1e-3);
}
