// What constants cost at first: as operands, at an index, and the program's own.
#include "common.cuh"

struct Parameters {
  unsigned v[256];
};
__constant__ unsigned table[16384];

__device__ inline unsigned now() {
  unsigned t;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
  return t;
}

__device__ inline void keep(long long* out, unsigned from, unsigned to, unsigned x) {
  if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = to - from + (x >> 31);
}

// An operand, when everything that a launch brings has long been near: each warp still asks for its line.
__global__ void operand(__grid_constant__ const Parameters from, long long* out) {
  unsigned x = threadIdx.x, begin = now();
  while (now() - begin < 1000) {
  }
  unsigned start = now();
  asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(from.v[0]) : "memory");
  unsigned end = now();
  asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(from.v[64]) : "memory");
  unsigned after = now();
  keep(out, start, end, x);
  if (threadIdx.x == 5000) *out = after;
}

// At an index that is 0.
__global__ void indexed(__grid_constant__ const Parameters from, long long* out) {
  unsigned x = threadIdx.x >> 12, start = now();
  asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(from.v[x]) : "memory");
  keep(out, start, now() + (x & 0), x);
}

// The program's own, `first` words in; then another one that is `beyond` words further, if any.
__global__ void own(unsigned first, unsigned beyond, long long* out) {
  unsigned x = threadIdx.x >> 12, t0 = now();
  asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(table[first + x]) : "memory");
  unsigned t1 = now() + (x & 0);
  asm volatile("add.u32 %0, %0, %1;" : "+r"(x) : "r"(table[first + beyond + x]) : "memory");
  unsigned t2 = now() + (x & 0);
  keep(out, beyond == 0 ? t0 : t1, beyond == 0 ? t1 : t2, x);
}

int main() {
  long long* d;
  CK(cudaMalloc(&d, 132 * 8 * 8));
  const Parameters parameters = {};
  char what[64];
  auto mean = [&](const char* name, int ctas, int warps) {
    snprintf(what, sizeof what, "first_%s_ctas%d", name, ctas);
    report("first", what, warps, mean_cycles(d, ctas * warps));
  };
  unsigned fresh = 0;
  for (int ctas : {1, 132})
    for (int warps : {1, 2, 4, 8}) {
      operand<<<ctas, 32 * warps>>>(parameters, d), mean("operand", ctas, warps);
      indexed<<<ctas, 32 * warps>>>(parameters, d), mean("indexed", ctas, warps);
      own<<<ctas, 32 * warps>>>(fresh, 0, d), mean("own", ctas, warps);
      for (unsigned beyond : {16u, 32u, 64u}) {
        char name[32];
        snprintf(name, sizeof name, "own_beyond%u", beyond * 4);
        own<<<ctas, 32 * warps>>>(fresh, beyond, d), mean(name, ctas, warps);
      }
      fresh += 1024;
    }
  return 0;
}
