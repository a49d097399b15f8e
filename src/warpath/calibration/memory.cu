// Where a line is decides its latency: each step of a chain timed on its own. And what one SM and all of them can move.
#include <algorithm>
#include <vector>

#include "common.cuh"

__global__ void steps(const unsigned *p, unsigned at, int n, int bypass, unsigned *out) {
  for (int i = 0; i < n; i++) {
    unsigned start, end, next;
    asm volatile("mov.u32 %0, %clock;" : "=r"(start)::"memory");
    next = bypass ? __ldcg(p + at) : __ldca(p + at);
    asm volatile("{.reg .pred q; setp.eq.u32 q, %1, 0xffffffff; @q trap; mov.u32 %0, %clock;}" : "=r"(end) : "r"(next) : "memory");
    out[i] = end - start;
    at = next;
  }
}

__global__ void touch(const float4 *p, size_t n, float *out) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) sum += __ldcg(p + i).x;
  sink(sum, out);
}

// Each CTA reads its share of `bytes` again and again, past L1.
template <class T>
__global__ void pull(const T *p, int per_cta, int passes, long long *out, float *keep) {
  const T *mine = p + size_t(blockIdx.x) * per_cta;
  float sum = 0;
  long long start = 0;
  for (int k = 0; k < passes; k++) {
    if (k == 1) {
      __syncthreads();
      start = clock64();
    }
    for (int i = threadIdx.x; i < per_cta; i += blockDim.x * 4) {
      T v[4];
#pragma unroll
      for (int u = 0; u < 4; u++) v[u] = __ldcg(mine + i + u * blockDim.x);
#pragma unroll
      for (int u = 0; u < 4; u++) sum += *(const float *)&v[u];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
  sink(sum, keep);
}

template <class T>
__global__ void push(T *p, int per_cta, int passes, long long *out, T value) {
  T *mine = p + size_t(blockIdx.x) * per_cta;
  __syncthreads();
  long long start = clock64();
  for (int k = 0; k < passes; k++)
    for (int i = threadIdx.x; i < per_cta; i += blockDim.x) mine[i] = value;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
}

void histogram(const char *name, const std::vector<unsigned> &all) {
  std::vector<unsigned> v(all);
  std::sort(v.begin(), v.end());
  for (int q : {1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99}) report("memory", name, q, v[v.size() * q / 100]);
}

int main() {
  const size_t most = size_t(1) << 30;
  unsigned *p, *d_out, *junk;
  CK(cudaMalloc(&p, most));
  CK(cudaMalloc(&junk, size_t(512) << 20));
  CK(cudaMalloc(&d_out, 1 << 20));
  std::vector<unsigned> next(most / 4), got;
  auto chain = [&](size_t bytes, size_t stride) {
    size_t slots = bytes / stride, step = slots * 5 / 13 | 1, at = 0;
    for (size_t i = 0; i < slots; i++) {
      size_t to = (at + step) % slots;
      next[at * stride / 4] = unsigned(to * stride / 4);
      at = to;
    }
    CK(cudaMemcpy(p, next.data(), bytes, cudaMemcpyHostToDevice));
  };
  auto flush = [&] { CK(cudaMemset(junk, 1, size_t(512) << 20)); };
  auto run = [&](const char *name, int n, int bypass, unsigned at = 0) {
    steps<<<1, 1>>>(p, at, n, bypass, d_out);
    got.resize(n);
    CK(cudaMemcpy(got.data(), d_out, n * 4, cudaMemcpyDeviceToHost));
    histogram(name, got);
  };
  chain(64 << 10, 128);
  run("l1_first", 512, 0);
  run("l1_twice", 1024, 0);
  flush();
  run("dram_64k", 512, 1);
  run("l2_64k_second", 512, 1);
  flush();
  touch<<<132, 256>>>((const float4 *)p, (64 << 10) / 16, (float *)d_out);
  run("l2_64k_touched_by_all", 512, 1);
  chain(16 << 20, 128);
  flush();
  run("dram_16m", 8192, 1);
  run("l2_16m_second", 8192, 1);
  flush();
  touch<<<1056, 256>>>((const float4 *)p, (16 << 20) / 16, (float *)d_out);
  run("l2_16m_touched_by_all", 8192, 1);
  run("l2_16m_again", 8192, 1);
  for (size_t mb : {24, 28, 32, 40, 48, 56}) {
    chain(mb << 20, 128);
    flush();
    touch<<<1056, 256>>>((const float4 *)p, (mb << 20) / 16, (float *)d_out);
    char name[64];
    snprintf(name, sizeof name, "l2_%zum_touched_by_all", mb);
    run(name, 8192, 1);
  }
  chain(most, 2 << 20);
  flush();
  run("dram_1g_stride2m", 500, 1);
  run("l2_1g_stride2m_second", 500, 1);
  chain(most, 128);
  flush();
  run("dram_1g", 8192, 1);

  long long *d_cycles;
  CK(cudaMalloc(&d_cycles, 8192));
  std::vector<long long> cycles(1024);
  auto best = [&](const char *name, int ctas, double bytes_per_cta) {
    CK(cudaMemcpy(cycles.data(), d_cycles, ctas * 8, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < ctas; i++) sum += double(cycles[i]);
    report("memory", name, ctas, bytes_per_cta / (sum / ctas));
  };
  for (int ctas : {1, 2, 8, 16, 33, 66, 132}) {
    const int bytes = 128 << 10;
    pull<float><<<ctas, 1024>>>((float *)p, bytes / 4, 9, d_cycles, (float *)d_out);
    best("pull4_bytes_per_clk_per_cta", ctas, bytes * 8.0);
    pull<float4><<<ctas, 1024>>>((float4 *)p, bytes / 16, 9, d_cycles, (float *)d_out);
    best("pull16_bytes_per_clk_per_cta", ctas, bytes * 8.0);
    push<float><<<ctas, 1024>>>((float *)p, bytes / 4, 8, d_cycles, 1.0f);
    best("push4_bytes_per_clk_per_cta", ctas, bytes * 8.0);
    push<float4><<<ctas, 1024>>>((float4 *)p, bytes / 16, 8, d_cycles, make_float4(1, 2, 3, 4));
    best("push16_bytes_per_clk_per_cta", ctas, bytes * 8.0);
  }
  return 0;
}
