// Constants at an index: chains over growing footprints, words of one load, rates of one SM and of all.
#include "common.cuh"

constexpr unsigned kWords = 16384;
__constant__ unsigned table[kWords];

// Each lane follows its own chain; `stride` words between lanes.
__global__ void chain(unsigned lanes, unsigned stride, int steps, long long *out, int *keep) {
  unsigned at = threadIdx.x % 32 % lanes * stride;
  for (int k = 0; k < steps; k++) at = table[at];
  __syncthreads();
  long long start = clock64();
  for (int k = 0; k < steps; k++) at = table[at];
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
  sink(int(at), keep);
}

// Eight loads that wait for nothing a step, each of another line.
__global__ void rate(unsigned lanes, unsigned stride, unsigned mask, int steps, long long *out, int *keep) {
  unsigned at = threadIdx.x % 32 % lanes, sum = 0;  // 0, which the compiler does not know
  for (int pass = 0; pass < 2; pass++) {
    __syncthreads();
    long long start = clock64();
    for (int k = 0; k < steps; k++) {
#pragma unroll
      for (int j = 0; j < 8; j++) sum += table[(at + j * stride) & mask];
      at += 8 * stride;
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
  }
  sink(int(sum), keep);
}

int main() {
  static unsigned host[kWords];
  long long *d;
  CK(cudaMalloc(&d, 8192));
  int *keep = (int *)(d + 512);
  char what[64];
  auto mean = [&](const char *name, int ctas, double x, double per) {
    report("constant", name, x, mean_cycles(d, ctas) / per);
  };
  for (unsigned bytes : {512u, 1024u, 2048u, 3072u, 4096u, 16384u, 65536u}) {
    const unsigned words = bytes / 4, steps = words / 16 * 4;
    for (unsigned i = 0; i < kWords; i++) host[i] = (i + 16) % words;
    CK(cudaMemcpyToSymbol(table, host, sizeof host));
    chain<<<1, 32>>>(1, 0, steps, d, keep);
    mean("constant_chain", 1, bytes, steps);
  }
  for (unsigned i = 0; i < kWords; i++) host[i] = i;
  CK(cudaMemcpyToSymbol(table, host, sizeof host));
  for (unsigned stride : {1u, 64u})
    for (unsigned lanes : {1u, 2u, 4u, 8u, 16u, 32u})
      for (int warps : {1, 32}) {
        chain<<<1, 32 * warps>>>(lanes, stride, 64, d, keep);
        snprintf(what, sizeof what, "constant_lanes_stride%u_warps%d", stride * 4, warps);
        mean(what, 1, lanes, 64);
      }
  for (unsigned bytes : {2048u, 16384u})
    for (int warps : {1, 32})
      for (int ctas : {1, 132}) {
        rate<<<ctas, 32 * warps>>>(1, 64, bytes / 4 - 1, 64, d, keep);
        snprintf(what, sizeof what, "constant_rate_warps%d_ctas%d", warps, ctas);
        mean(what, ctas, bytes, 64.0 * 8 * warps);
      }
  return 0;
}
