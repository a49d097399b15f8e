// Which warp a scheduler lets issue next: how long each of its warps takes for straight code, and all of
// them.
#include <algorithm>

#include "common.cuh"

constexpr int kSteps = 128;

struct Add {
  static __device__ void step(unsigned* r, unsigned x) {
    asm volatile("add.f32 %0, %0, %1;" : "+r"(r[0]) : "r"(x));
  }
};
struct Logic {
  static __device__ void step(unsigned* r, unsigned x) {
    asm volatile("lop3.b32 %0, %0, %1, %1, 0x2d;" : "+r"(r[0]) : "r"(x));
  }
};
struct High {
  static __device__ void step(unsigned* r, unsigned x) {
    asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(r[0]) : "r"(x));
  }
};
struct Half {
  static __device__ void step(unsigned* r, unsigned x) {
    asm volatile("mul.rn.f16x2 %0, %0, %1;" : "+r"(r[0]) : "r"(x));
  }
};

// One after the other over eight registers each; every warp says when it began and ended.
template <class First, class Second>
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
      First::step(r + k % 8, x);
      Second::step(r + 8 + k % 8, x);
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
template <class First, class Second>
void one(const char* name, long long* d) {
  for (int warps : {1, 2, 4, 8}) {
    for (int r = 0; r < 2; r++) turns<First, Second><<<1, warps * 128>>>(7, d, (int*)(d + 64));
    std::vector<long long> times(64);
    CK(cudaMemcpy(times.data(), d, 64 * sizeof times[0], cudaMemcpyDeviceToHost));
    long long first = times[0], last = times[1];
    double own = 0;
    for (int w = 0; w < warps * 4; w += 4) {
      first = std::min(first, times[w * 2]), last = std::max(last, times[w * 2 + 1]);
      own += double(times[w * 2 + 1] - times[w * 2]) / warps;
    }
    char what[48];
    snprintf(what, sizeof what, "turns_%s_own", name);
    report("turns", what, warps, own / kSteps);
    snprintf(what, sizeof what, "turns_%s", name);
    report("turns", what, warps, double(last - first) / (kSteps * warps));
  }
}

int main() {
  long long* d;
  CK(cudaMalloc(&d, 1024));
  one<Add, Add>("add", d);
  one<Logic, Logic>("logic", d);
  one<High, High>("high", d);
  one<High, Logic>("high_logic", d);
  one<High, Add>("high_add", d);
  one<Half, Add>("half_add", d);
  one<Half, Logic>("half_logic", d);
  return 0;
}
