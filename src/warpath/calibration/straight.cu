// Straight code that runs once: when each line of it is there, after a wait in the first; and which of two CTAs of
// an SM goes first.
#include "common.cuh"

constexpr int kLines = 96;
constexpr int kStamps = kLines + 1;

// Eight instructions a line, one of which reads the clock; before them `Waits` loads, one after another.
template <int Waits>
__global__ void straight(unsigned *out, const unsigned *chain, unsigned x, unsigned y) {
  unsigned t[kLines], a = threadIdx.x, b = a + 1, c = a + 2, at = 0, start;
  asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
#pragma unroll
  for (int i = 0; i < Waits; i++) asm volatile("ld.global.cv.u32 %0, [%1];" : "=r"(at) : "l"(chain + at) : "memory");
  a += at;
#pragma unroll
  for (int i = 0; i < kLines; i++) {
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t[i])::"memory");
    asm volatile(
        "mad.lo.u32 %0, %0, %3, %4; mad.lo.u32 %1, %1, %3, %4; mad.lo.u32 %2, %2, %3, %4; mad.lo.u32 %0, %0, %3, %4;"
        "mad.lo.u32 %1, %1, %3, %4; mad.lo.u32 %2, %2, %3, %4; mad.lo.u32 %0, %0, %3, %4;"
        : "+r"(a), "+r"(b), "+r"(c)
        : "r"(x), "r"(y)
        : "memory");
  }
  if (threadIdx.x == 0 && (blockIdx.x == 0 || blockIdx.x == gridDim.x - 1)) {
    unsigned *own = out + (blockIdx.x != 0) * kStamps;
    own[0] = start;
#pragma unroll
    for (int i = 0; i < kLines; i++) own[i + 1] = t[i];
  }
  sink(int(a + b + c), (int *)out + 1000);
}

unsigned *out, *chain;

// The first and the last CTA: cycles from line to line; with two CTAs on each SM, the longest of these.
template <int Waits>
void run() {
  unsigned h[2 * kStamps];
  char what[64];
  for (int ctas : {1, 132, 264}) {
    const int threads = ctas == 264 ? 256 : 32;
    straight<Waits><<<ctas, threads>>>(out, chain, 3, 7);
    CK(cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost));
    for (int k = 0; k < (ctas > 1 ? 2 : 1); k++) {
      const unsigned *own = h + k * kStamps;
      unsigned longest = 0;
      snprintf(what, sizeof what, "wait%d_ctas%d_%s", Waits, ctas, k == 0 ? "first" : "last");
      for (int i = 1; i < kStamps; i++) {
        if (i > 1) longest = own[i] - own[i - 1] > longest ? own[i] - own[i - 1] : longest;
        if (ctas != 264 && i % 2 == 0) report("straight", what, i, (own[i] - own[i - 2]) / 2.0);
      }
      if (ctas == 264) report("straight", what, 0, longest);
    }
  }
}

int main() {
  CK(cudaMalloc(&out, 8192));
  CK(cudaMalloc(&chain, 4096));
  CK(cudaMemset(chain, 0, 4096));
  run<0>();
  run<1>();
  run<2>();
  run<4>();
}
