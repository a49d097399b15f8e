// Which warp a scheduler lets issue next: how long each of its warps takes for straight code, and all of
// them.
#include <algorithm>

#include "common.cuh"

constexpr int kSteps = 128;

enum class Op { Add, Logic, High, Half };

template <Op op>
__device__ void step(unsigned& r, unsigned x) {
  if constexpr (op == Op::Add) asm volatile("add.f32 %0, %0, %1;" : "+r"(r) : "r"(x));
  if constexpr (op == Op::Logic) asm volatile("lop3.b32 %0, %0, %1, %1, 0x2d;" : "+r"(r) : "r"(x));
  if constexpr (op == Op::High) asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(r) : "r"(x));
  if constexpr (op == Op::Half) asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(r) : "r"(x));
}

// One after the other over eight registers each; every warp says when it began and ended.
template <Op first, Op second>
__global__ void turns(unsigned x, long long* out, int* keep) {
  __shared__ volatile unsigned seen[32];
  unsigned r[16];
  for (int i = 0; i < 16; i++) r[i] = x + threadIdx.x + i;
  seen[threadIdx.x % 32] = x;
  long long start = 0, end = 0;
#pragma unroll 1
  for (int round = 0; round < 3; round++) {
    __syncthreads();
    if (seen[threadIdx.x % 32] == 77) *keep = 1;  // arithmetic goes ahead of a barrier; this does not
    start = clock64();
#pragma unroll
    for (int k = 0; k < kSteps / 2; k++) {
      step<first>(r[k % 8], x);
      step<second>(r[8 + k % 8], x);
    }
    end = clock64();
  }
  unsigned sum = 0;
  for (int i = 0; i < 16; i++) sum ^= r[i];
  sink(int(sum), keep);
  if (threadIdx.x % 32 == 0) {
    out[threadIdx.x / 32 * 2] = start;
    out[threadIdx.x / 32 * 2 + 1] = end;
  }
}

// Of the warps of the first scheduler: cycles an instruction of one's own, and of all.
template <Op first, Op second>
void one(const char* name, long long* d) {
  for (int warps : {1, 2, 4, 8}) {
    for (int r = 0; r < 2; r++) turns<first, second><<<1, warps * 128>>>(7, d, (int*)(d + 64));
    std::vector<long long> times(64);
    CK(cudaMemcpy(times.data(), d, 64 * sizeof times[0], cudaMemcpyDeviceToHost));
    long long begin = times[0], end = times[1];
    double own = 0;
    for (int w = 0; w < warps * 4; w += 4) {
      begin = std::min(begin, times[w * 2]), end = std::max(end, times[w * 2 + 1]);
      own += double(times[w * 2 + 1] - times[w * 2]) / warps;
    }
    char what[48];
    snprintf(what, sizeof what, "turns_%s_own", name);
    report("turns", what, warps, own / kSteps);
    snprintf(what, sizeof what, "turns_%s", name);
    report("turns", what, warps, double(end - begin) / (kSteps * warps));
  }
}

int main() {
  long long* d;
  CK(cudaMalloc(&d, 1024));
  one<Op::Add, Op::Add>("add", d);
  one<Op::Logic, Op::Logic>("logic", d);
  one<Op::High, Op::High>("high", d);
  one<Op::High, Op::Logic>("high_logic", d);
  one<Op::High, Op::Add>("high_add", d);
  one<Op::Half, Op::Add>("half_add", d);
  one<Op::Half, Op::Logic>("half_logic", d);
  return 0;
}
