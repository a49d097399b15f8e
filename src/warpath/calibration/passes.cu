// How fast a sub-partition takes what L1 and shared memory answer in several passes.
#include "common.cuh"

constexpr int kSteps = 64;

// Loads that hit L1, `Ahead` of them under way; lanes are `stride` words apart.
template <int Ahead>
__global__ void lines(const unsigned *data, int stride, long long *out, int *keep) {
  const unsigned *p = data + threadIdx.x * stride;
  unsigned x = 0;
  long long start = 0, end = 0;
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads();
    start = clock64();
#pragma unroll 1
    for (int k = 0; k < kSteps; k++) {
      unsigned v[Ahead];
#pragma unroll
      for (int u = 0; u < Ahead; u++) v[u] = __ldca(p + (x & 1) + u);
#pragma unroll
      for (int u = 0; u < Ahead; u++) x += v[u];
    }
    __syncthreads();
    end = clock64();
  }
  if (threadIdx.x == 0) *out = end - start;
  sink(int(x), keep);
}

// One such load, and four look-ups in a table of 256 words of shared memory.
__global__ void mixed(const unsigned *data, int stride, long long *out, int *keep) {
  __shared__ unsigned table[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) table[i] = i * 2654435761u;
  const unsigned *p = data + threadIdx.x * stride;
  unsigned x = threadIdx.x * 40503u;
  long long start = 0, end = 0;
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads();
    start = clock64();
#pragma unroll 1
    for (int k = 0; k < kSteps; k++) {
      unsigned v = __ldca(p + (k & 31));
#pragma unroll
      for (int b = 0; b < 4; b++) {
        x = table[(x ^ v) & 255] ^ (x >> 8);
        v >>= 8;
      }
    }
    __syncthreads();
    end = clock64();
  }
  if (threadIdx.x == 0) *out = end - start;
  sink(int(x), keep);
}

int main() {
  unsigned *data;
  long long *d;
  CK(cudaMalloc(&data, 1 << 20));
  CK(cudaMemset(data, 0, 1 << 20));
  CK(cudaMalloc(&d, 256));
  int *keep = (int *)(d + 8);
  auto show = [&](const char *name, int warps, int stride, int loads) {
    char what[64];
    snprintf(what, sizeof what, "%s_warps%d", name, warps);
    report("passes", what, stride, mean_cycles(d, 1) / kSteps / loads);
  };
  for (int warps : {1, 4, 8})
    for (int stride : {1, 8, 32, 33}) {
      lines<1><<<1, 32 * warps>>>(data, stride, d, keep), show("load", warps, stride, 1);
      lines<4><<<1, 32 * warps>>>(data, stride, d, keep), show("four_loads", warps, stride, 4);
      mixed<<<1, 32 * warps>>>(data, stride, d, keep), show("mixed", warps, stride, 1);
    }
}
