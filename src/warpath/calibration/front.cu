// The front end of an SM: special registers, indexed constants, branches, mixed pipes, and how CTAs follow each other.
#include <algorithm>
#include <vector>

#include "common.cuh"

constexpr int kSteps = 512;
__constant__ int table[1024];

template <int Kind>
__device__ inline int step(int x) {
  int v;
  if constexpr (Kind == 0) asm volatile("mov.u32 %0, %warpid;" : "=r"(v));
  if constexpr (Kind == 1) asm volatile("mov.u32 %0, %smid;" : "=r"(v));
  if constexpr (Kind == 2) asm volatile("mov.u32 %0, %clock;" : "=r"(v));
  if constexpr (Kind == 3) v = table[x & 1023];
  return v;
}

// Independent reads: cycles each for the SM.
template <int Kind>
__global__ void rate(int step_by, long long *out, int *keep) {
  int sum = threadIdx.x;
  __syncthreads();
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) {
    if constexpr (Kind == 3) {
      int v;
      asm volatile("ld.const.u32 %0, [%1];" : "=r"(v) : "l"(table + ((k & 15) + (k >> 4) * step_by) % 64));
      sum += v;
    } else {
      sum += step<Kind>(k);
    }
  }
  __syncthreads();
  long long end = clock64();
  if (threadIdx.x == 0) out[0] = end - start;
  sink(sum, keep);
}

__global__ void constant_chain(long long *out, int *keep) {
  int at = 0;
  for (int k = 0; k < 64; k++) at = table[at];
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) at = table[at];
  out[0] = clock64() - start;
  *keep = at;
}
__global__ void register_chain(long long *out, int *keep) {
  int sum = 0;
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) {
    int v;
    asm volatile("{.reg .u32 t; mov.u32 t, %smid; add.u32 %0, t, %1;}" : "=r"(v) : "r"(sum));
    sum = v * 3;
  }
  out[0] = clock64() - start;
  *keep = sum;
}

template <int Body>
__global__ void loops(int n, long long *out, float seed, float *keep) {
  float v = seed;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < n; k++) {
#pragma unroll
    for (int i = 0; i < Body; i++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v) : "f"(seed));
  }
  long long end = clock64();
  if (threadIdx.x == 0) out[0] = end - start;
  sink(v, keep);
}

// Two operations of a mix, four chains each.
template <int Mix>
__global__ void mixed(long long *out, int seed, int *keep) {
  int a[4], b[4];
  float f[4];
  for (int s = 0; s < 4; s++) a[s] = threadIdx.x + s, b[s] = seed + s, f[s] = float(seed + s);
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < 32; k++)
#pragma unroll
    for (int u = 0; u < 8; u++)
#pragma unroll
      for (int s = 0; s < 4; s++) {
        if constexpr (Mix == 0 || Mix == 2) asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(a[s]) : "r"(seed));
        if constexpr (Mix == 0 || Mix == 1) asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(b[s]) : "r"(seed));
        if constexpr (Mix == 1 || Mix == 2) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f[s]));
      }
  __syncthreads();
  long long end = clock64();
  if (threadIdx.x == 0) out[0] = end - start;
  int sum = 0;
  for (int s = 0; s < 4; s++) sum += a[s] + b[s] + int(f[s]);
  sink(sum, keep);
}

// Each CTA notes where and when it ran.
__global__ void stamps(int wait, long long *start, long long *end, unsigned *sm, long long *last_warp) {
  long long begin = clock64();
  if (threadIdx.x == 0) {
    start[blockIdx.x] = begin;
    asm volatile("mov.u32 %0, %smid;" : "=r"(sm[blockIdx.x]));
  }
  if (threadIdx.x == blockDim.x - 32) last_warp[blockIdx.x] = begin;
  while (clock64() - begin < wait) {
  }
  if (threadIdx.x == 0) end[blockIdx.x] = clock64();
}

template <int Kind>
void rates(const char *name, long long *d) {
  long long cycles;
  for (int warps : {1, 4, 8, 16, 32}) {
    for (int r = 0; r < 2; r++) rate<Kind><<<1, 32 * warps>>>(3, d, (int *)(d + 2));
    CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
    report("front", name, warps, double(cycles) / kSteps);
  }
}

template <int Body>
void loop_cost(long long *d) {
  long long cycles;
  char what[32];
  snprintf(what, sizeof what, "loop%d", Body);
  for (int warps : {1, 4, 16, 32}) {
    for (int r = 0; r < 2; r++) loops<Body><<<1, 32 * warps>>>(256, d, 1.5f, (float *)(d + 2));
    CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
    report("front", what, warps, double(cycles) / 256);
  }
}

template <int Mix>
void mixes(const char *name, long long *d) {
  long long cycles;
  for (int warps : {4, 8, 16, 32}) {
    for (int r = 0; r < 2; r++) mixed<Mix><<<1, 32 * warps>>>(d, 3, (int *)(d + 2));
    CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
    report("front", name, warps, double(cycles) / (32 * 8 * 4));
  }
}

void follow(int threads, int wait, int waves) {
  int per_sm = 2048 / threads;
  if (per_sm > 32) per_sm = 32;
  const int n = 132 * per_sm * waves;
  long long *start, *end, *last;
  unsigned *sm;
  CK(cudaMalloc(&start, n * 8));
  CK(cudaMalloc(&end, n * 8));
  CK(cudaMalloc(&last, n * 8));
  CK(cudaMalloc(&sm, n * 4));
  for (int r = 0; r < 2; r++) stamps<<<n, threads>>>(wait, start, end, sm, last);
  std::vector<long long> s(n), e(n), l(n);
  std::vector<unsigned> m(n);
  CK(cudaMemcpy(s.data(), start, n * 8, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(e.data(), end, n * 8, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(l.data(), last, n * 8, cudaMemcpyDeviceToHost));
  CK(cudaMemcpy(m.data(), sm, n * 4, cudaMemcpyDeviceToHost));
  char what[64];
  std::vector<double> spread, gaps;
  for (int i = 0; i < n; i++) spread.push_back(double(l[i] - s[i]));
  std::sort(spread.begin(), spread.end());
  snprintf(what, sizeof what, "warp_spread_t%d_w%d", threads, wait);
  report("cta", what, threads, spread[n / 2]);
  for (unsigned want : {0u, 17u, 60u}) {
    std::vector<std::pair<long long, int>> ends, starts;
    for (int i = 0; i < n; i++)
      if (m[i] == want) ends.push_back({e[i], i}), starts.push_back({s[i], i});
    std::sort(ends.begin(), ends.end());
    std::sort(starts.begin(), starts.end());
    // The k-th end makes room for the (per_sm + k)-th start.
    for (size_t k = 0; k + per_sm < starts.size(); k++) gaps.push_back(double(starts[k + per_sm].first - ends[k].first));
    if (want == 17u && waves > 1) {
      for (size_t k = 0; k < starts.size() && k < 40; k++) {
        snprintf(what, sizeof what, "sm17_t%d_w%d_block", threads, wait);
        report("cta", what, double(starts[k].first - starts[0].first), starts[k].second);
      }
    }
  }
  std::sort(gaps.begin(), gaps.end());
  if (!gaps.empty()) {
    snprintf(what, sizeof what, "gap_t%d_w%d", threads, wait);
    report("cta", what, 10, gaps[gaps.size() / 10]);
    report("cta", what, 50, gaps[gaps.size() / 2]);
    report("cta", what, 90, gaps[gaps.size() * 9 / 10]);
  }
  if (threads == 1024 && wait == 2000)
    for (int i = 0; i < 264; i++) report("cta", "block_to_sm", i, m[i]);
}

int main() {
  long long *d, cycles;
  CK(cudaMalloc(&d, 4096));
  std::vector<int> next(1024);
  for (int i = 0; i < 1024; i++) next[i] = (i + 33) % 64;
  CK(cudaMemcpyToSymbol(table, next.data(), 4096));
  rates<0>("s2r_warpid", d);
  rates<1>("s2r_smid", d);
  rates<2>("cs2r_clock", d);
  rates<3>("ldc", d);
  for (int r = 0; r < 2; r++) constant_chain<<<1, 1>>>(d, (int *)(d + 2));
  CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
  report("front", "ldc_chain", 0, double(cycles) / kSteps);
  for (int r = 0; r < 2; r++) register_chain<<<1, 32>>>(d, (int *)(d + 2));
  CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
  report("front", "s2r_chain", 0, double(cycles) / kSteps);
  loop_cost<1>(d);
  loop_cost<2>(d);
  loop_cost<4>(d);
  loop_cost<8>(d);
  loop_cost<16>(d);
  mixes<0>("lop_imad", d);
  mixes<1>("imad_ffma", d);
  mixes<2>("lop_ffma", d);
  for (int wait : {200, 2000})
    for (int threads : {32, 256, 1024}) follow(threads, wait, 4);
  return 0;
}
