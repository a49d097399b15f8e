// Lanes that spread over lines: loads that hit in L1 by where their words lie, loads past L1, stores of single words.
#include "common.cuh"

enum Pattern { kSameBank, kSpread, kRandom, kTwoLanes, kOneLine };
constexpr int kSteps = 16, kLoads = 4;

__device__ inline size_t place(int pattern, unsigned random, unsigned lane, unsigned mask) {
  const unsigned shared = __shfl_sync(~0u, random, 0) >> 8;
  unsigned line = shared, word = lane;
  if (pattern == kSameBank) line = shared + lane, word = 5;
  if (pattern == kSpread) line = shared + lane;
  if (pattern == kRandom) line = random >> 8, word = random >> 3 & 31;
  if (pattern == kTwoLanes) line = shared + lane / 2;
  return size_t(line & mask) * 32 + word;
}

template <bool PastL1>
__global__ void load(const int *p, int pattern, unsigned mask, long long *out, int *keep) {
  const unsigned lane = threadIdx.x % 32;
  unsigned random = (blockIdx.x * 1031 + threadIdx.x) * 2654435761u + 12345;
  int sum = 0;
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads();
    long long start = clock64();
    for (int k = 0; k < kSteps; k++) {
      int v[kLoads];
#pragma unroll
      for (int j = 0; j < kLoads; j++) {
        random = random * 1664525u + 1013904223u;
        const int *from = p + place(pattern, random, lane, mask);
        v[j] = PastL1 ? __ldcg(from) : __ldca(from);
      }
#pragma unroll
      for (int j = 0; j < kLoads; j++) sum += v[j];
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
  }
  sink(sum, keep);
}

__global__ void store(int *p, int pattern, unsigned mask, long long *out) {
  const unsigned lane = threadIdx.x % 32;
  unsigned random = (blockIdx.x * 1031 + threadIdx.x) * 2654435761u + 12345;
  __syncthreads();
  long long start = clock64();
  for (int k = 0; k < 2 * kSteps; k++) {
    random = random * 1664525u + 1013904223u;
    p[place(pattern, random, lane, mask)] = k;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
}

int main() {
  long long *d;
  int *p;
  CK(cudaMalloc(&d, 8192));
  CK(cudaMalloc(&p, 8 << 20));
  CK(cudaMemset(p, 0, 8 << 20));
  char what[64];
  auto mean = [&](const char *name, int pattern, int ctas, unsigned lines, double per) {
    const char *names[] = {"same_bank", "spread", "random", "two_lanes", "one_line"};
    snprintf(what, sizeof what, "%s_%s_ctas%d", name, names[pattern], ctas);
    report("gather", what, lines, mean_cycles(d, ctas) / per);
  };
  for (int pattern : {kSameBank, kSpread, kRandom, kTwoLanes, kOneLine})
    for (int ctas : {1, 132}) {
      load<false><<<ctas, 1024>>>(p, pattern, 511, d, (int *)(d + 512));
      mean("hit", pattern, ctas, 512, kSteps * kLoads * 32.0);
      for (unsigned lines : {2048u, 32768u}) {
        for (int warm = 0; warm < 2; warm++)
          load<true><<<ctas, 1024>>>(p, pattern, lines - 1, d, (int *)(d + 512));
        mean("past_l1", pattern, ctas, lines, kSteps * kLoads * 32.0);
        store<<<ctas, 1024>>>(p, pattern, lines - 1, d);
        mean("store", pattern, ctas, lines, 2 * kSteps * 32.0);
      }
    }
  return 0;
}
