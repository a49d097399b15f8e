// What jumps, reconvergence and lanes that part cost: cycles of a round, of one warp and of 32.
#include "common.cuh"

constexpr int kRounds = 64;
enum Mode { kIf, kLoop, kBreak, kSwitch };

// A step of four cycles that the compiler cannot fold.
#define STEP(v) asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(v) : "r"(x), "r"(y))

// Lanes below `some` take the branch of kIf; loops end after `trips`, or after lane % some + 1 of them.
template <int What>
__global__ void rounds(unsigned *out, long long *cycles, unsigned some, int trips, unsigned x, unsigned y) {
  unsigned lane = threadIdx.x & 31, v = threadIdx.x, w = 0;
  long long start = 0, end = 0;
#pragma unroll 1
  for (int pass = 0; pass < 2; pass++) {  // the second finds its code
    __syncwarp();
    start = clock64();
#pragma unroll 1
    for (int r = 0; r < kRounds; r++) {
      if (What == kIf && lane < some) {
        STEP(v);
        out[v & 1] = v;
      }
      int own = some ? int(lane % some) + 1 : trips;
      if (What == kLoop) {
#pragma unroll 1
        for (int i = 0; i < own; i++) STEP(v);
      }
      if (What == kBreak) {
#pragma unroll 1
        for (int i = 0; i < trips; i++) {
          STEP(v);
          if (own == i + 1) break;
          STEP(w);
        }
      }
      if (What == kSwitch) switch (own) {
          case 1: out[2] = v; break;
          case 2: out[3] = w; STEP(w); break;
          case 3: STEP(v); out[4] = w; break;
          case 4: STEP(w); STEP(w); out[5] = w; break;
          default: out[6] = v;
        }
      STEP(v);
    }
    end = clock64();
  }
  out[64 + threadIdx.x] = v + w;
  if (threadIdx.x == 0) *cycles = end - start;
}

int main() {
  unsigned *out;
  long long *d;
  CK(cudaMalloc(&out, 16384));
  CK(cudaMalloc(&d, 256));
  auto show = [&](const char *name, int warps, double x) {
    char what[64];
    snprintf(what, sizeof what, "%s_warps%d", name, warps);
    report("branch", what, x, mean_cycles(d, 1) / kRounds);
  };
  for (int warps : {1, 32}) {
#define RUN(mode, name, some, trips, x)                                  \
  rounds<mode><<<1, 32 * warps>>>(out, d, some, trips, 3, 7), show(name, warps, x)
    for (int lanes : {0, 1, 16, 32}) RUN(kIf, "if", lanes, 0, lanes);
    for (int n : {1, 2, 4, 8, 16, 32}) RUN(kLoop, "loop", 0, n, n);
    for (int n : {1, 2, 4, 8, 16, 32}) RUN(kLoop, "loop_left", n, 0, n);
    for (int n : {1, 2, 4, 8, 16, 32}) RUN(kBreak, "break", n, 64, n);
    for (int n : {1, 2, 3, 4, 5}) RUN(kSwitch, "switch", n, 0, n);
#undef RUN
  }
}
