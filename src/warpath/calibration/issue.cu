// Throughput and latency of each pipe: cycles per warp instruction for 1 to 16 warps a sub-partition, dependent chains
// and independent streams. Timed inside the kernel by the longest warp.
#include "common.cuh"

constexpr int kUnroll = 64, kLoops = 32;

struct Ffma {
  static constexpr const char *name = "ffma";
  using T = float;
  __device__ static T op(T x, T y) { return __fmaf_rn(x, y, x); }
};
struct Fadd {
  static constexpr const char *name = "fadd";
  using T = float;
  __device__ static T op(T x, T y) { return __fadd_rn(x, y); }
};
struct Iadd {
  static constexpr const char *name = "iadd3";
  using T = int;
  __device__ static T op(T x, T y) {
    asm volatile("add.s32 %0, %0, %1;" : "+r"(x) : "r"(y));
    return x;
  }
};
struct Imad {
  static constexpr const char *name = "imad";
  using T = int;
  __device__ static T op(T x, T y) {
    asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(x) : "r"(y));
    return x;
  }
};
struct Half {
  static constexpr const char *name = "hfma2";
  using T = int;
  __device__ static T op(T x, T y) {
    asm volatile("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x) : "r"(y));
    return x;
  }
};
struct Lop {
  static constexpr const char *name = "lop3";
  using T = int;
  __device__ static T op(T x, T y) {
    asm volatile("lop3.b32 %0, %0, %1, %1, 0x96;" : "+r"(x) : "r"(y));
    return x;
  }
};
struct Shf {
  static constexpr const char *name = "shf";
  using T = int;
  __device__ static T op(T x, T y) {
    asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(x) : "r"(y));
    return x;
  }
};
struct Mufu {
  static constexpr const char *name = "mufu";
  using T = float;
  __device__ static T op(T x, T) {
    asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
  }
};
struct Dfma {
  static constexpr const char *name = "dfma";
  using T = double;
  __device__ static T op(T x, T y) { return __fma_rn(x, y, x); }
};
struct Popc {
  static constexpr const char *name = "popc";
  using T = int;
  __device__ static T op(T x, T) {
    asm volatile("popc.b32 %0, %0;" : "+r"(x));
    return x;
  }
};
struct I2f {
  static constexpr const char *name = "i2f_f2i";
  using T = int;
  __device__ static T op(T x, T) { return int(float(x)); }
};
struct Shfl {
  static constexpr const char *name = "shfl";
  using T = int;
  __device__ static T op(T x, T) { return __shfl_xor_sync(0xffffffffu, x, 1); }
};

template <class Op, int Streams>
__global__ void probe(typename Op::T seed, long long *out, typename Op::T *keep) {
  using T = typename Op::T;
  T v[Streams];
#pragma unroll
  for (int s = 0; s < Streams; s++) v[s] = T(threadIdx.x + s) + seed;
  __shared__ long long first, last;
  if (threadIdx.x == 0) first = 0x7fffffffffffffffll, last = 0;
  __syncthreads();
  long long start = clock64();
#pragma unroll 1
  for (int k = 0; k < kLoops; k++)
#pragma unroll
    for (int u = 0; u < kUnroll / Streams; u++)
#pragma unroll
      for (int s = 0; s < Streams; s++) v[s] = Op::op(v[s], seed);
  long long end = clock64();
  atomicMin((unsigned long long *)&first, (unsigned long long)start);
  atomicMax((unsigned long long *)&last, (unsigned long long)end);
  __syncthreads();
  if (threadIdx.x == 0) out[0] = last - first;
#pragma unroll
  for (int s = 0; s < Streams; s++) sink(v[s], keep);
}

template <class Op, int Streams>
void measure() {
  long long *d, cycles;
  CK(cudaMalloc(&d, 64));
  for (int warps : {1, 4, 8, 16, 32}) {
    for (int round = 0; round < 2; round++) probe<Op, Streams><<<1, warps * 32>>>(typename Op::T(3), d, (typename Op::T *)(d + 2));
    CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
    char what[64];
    snprintf(what, sizeof what, "%s_%d", Op::name, Streams);
    report("issue", what, warps, double(cycles) / (kUnroll / Streams * Streams * kLoops));
  }
  CK(cudaFree(d));
}

template <class Op>
void both() {
  measure<Op, 1>();
  measure<Op, 4>();
}

int main() {
  both<Ffma>();
  both<Fadd>();
  both<Iadd>();
  both<Imad>();
  both<Half>();
  both<Lop>();
  both<Shf>();
  both<Mufu>();
  both<Dfma>();
  both<Popc>();
  both<I2f>();
  both<Shfl>();
  return 0;
}
