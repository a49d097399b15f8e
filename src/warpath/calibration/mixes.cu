// Which mixes of instructions keep a sub-partition from issuing one a cycle: registers of two banks, units.
#include "common.cuh"

constexpr int kSteps = 200;

__device__ inline void fma(unsigned& d, unsigned x, unsigned y, unsigned z) {
  d = __float_as_uint(__fmaf_rn(__uint_as_float(x), __uint_as_float(y), __uint_as_float(z)));
}
__device__ inline void logic(unsigned& d, unsigned x, unsigned y, unsigned z) {
  asm volatile("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
}
__device__ inline void multiply(unsigned& d, unsigned x, unsigned y, unsigned z) {
  asm volatile("mad.lo.u32 %0, %1, %2, %3;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
}
__device__ inline void add(unsigned& d, unsigned x, unsigned y) {
  asm volatile("add.u32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y));
}

// Four instructions a step, eight times unrolled.
template <class What>
__device__ void steps(What what, unsigned a, long long* out, int* keep) {
  unsigned r[8];
  for (int i = 0; i < 8; i++) r[i] = a * (i + 3) + threadIdx.x;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < kSteps; k++) {
#pragma unroll
    for (int u = 0; u < 8; u++) what(r);
  }
  __syncthreads();
  if (threadIdx.x == 0) *out = clock64() - start;
  unsigned sum = 0;
  for (int i = 0; i < 8; i++) sum ^= r[i];
  sink(int(sum), keep);
}

// Three registers of each, of one kind.
template <void (*One)(unsigned&, unsigned, unsigned, unsigned)>
__global__ void alike(unsigned a, unsigned c, long long* out, int* keep) {
  steps(
      [](unsigned* r) {
        One(r[0], r[0], r[1], r[2]), One(r[3], r[3], r[4], r[5]), One(r[6], r[6], r[7], r[1]),
            One(r[2], r[2], r[5], r[7]);
      },
      a, out, keep);
}
__global__ void fma_logic(unsigned a, unsigned c, long long* out, int* keep) {
  steps(
      [c](unsigned* r) {
        fma(r[0], r[0], r[1], r[1]), logic(r[2], r[2], r[3], c), fma(r[4], r[4], r[5], r[5]),
            logic(r[6], r[6], r[7], c);
      },
      a, out, keep);
}
__global__ void fma_add(unsigned a, unsigned c, long long* out, int* keep) {
  steps(
      [c](unsigned* r) {
        fma(r[0], r[0], r[1], r[1]), add(r[2], r[2], c), fma(r[4], r[4], r[5], r[5]), add(r[6], r[6], c);
      },
      a, out, keep);
}
__global__ void multiply_logic(unsigned a, unsigned c, long long* out, int* keep) {
  steps(
      [a, c](unsigned* r) {
        multiply(r[0], r[0], a, r[1]), logic(r[2], r[2], r[3], c), multiply(r[4], r[4], a, r[5]),
            logic(r[6], r[6], r[7], c);
      },
      a, out, keep);
}

int main() {
  long long* d;
  CK(cudaMalloc(&d, 64));
  int* keep = (int*)(d + 1);
  auto one = [&](const char* name, int warps) {
    report("mixes", name, warps, mean_cycles(d, 1) / (kSteps * 32.0));
  };
  for (int warps : {4, 8, 16, 32}) {
    alike<fma><<<1, 32 * warps>>>(3, 7, d, keep), one("mix_fma", warps);
    fma_logic<<<1, 32 * warps>>>(3, 7, d, keep), one("mix_fma_logic", warps);
    fma_add<<<1, 32 * warps>>>(3, 7, d, keep), one("mix_fma_add", warps);
    multiply_logic<<<1, 32 * warps>>>(3, 7, d, keep), one("mix_multiply_logic", warps);
    alike<logic><<<1, 32 * warps>>>(3, 7, d, keep), one("mix_logic", warps);
  }
  return 0;
}
