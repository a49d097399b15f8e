// What a barrier holds back: a clock behind one instruction that follows it, while another warp comes late.
#include "common.cuh"

constexpr int kRounds = 3;  // the last one counts
enum What { kFma, kManyFmas, kDouble, kLogic, kBranch, kPopc, kShuffle, kLoad, kStore };

template <int Kind>
__device__ inline void follow(float &f, double &d, unsigned &u, unsigned *word, int never) {
  if (Kind == kFma) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f));
  if (Kind == kManyFmas) {
#pragma unroll
    for (int i = 0; i < 100; i++) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f));
  }
  if (Kind == kDouble) asm volatile("fma.rn.f64 %0, %0, %0, %0;" : "+d"(d));
  if (Kind == kLogic) asm volatile("lop3.b32 %0, %0, %0, 5, 0x96;" : "+r"(u));
  if (Kind == kBranch && never) {
#pragma unroll
    for (int i = 0; i < 16; i++) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(f));
  }
  if (Kind == kPopc) asm volatile("popc.b32 %0, %0;" : "+r"(u));
  if (Kind == kShuffle) asm volatile("shfl.sync.idx.b32 %0, %0, 3, 0x1f, 0xffffffff;" : "+r"(u));
  if (Kind == kLoad) asm volatile("ld.global.u32 %0, [%1];" : "=r"(u) : "l"(word + threadIdx.x) : "memory");
  if (Kind == kStore) asm volatile("st.global.u32 [%1], %0;" ::"r"(u), "l"(word + threadIdx.x) : "memory");
}

template <int Kind>
__global__ void behind(bool late, int never, unsigned *word, unsigned *out, int *keep) {
  float f = float(threadIdx.x);
  double d = f;
  unsigned u = threadIdx.x, start, end;
#pragma unroll 1
  for (int r = 0; r < kRounds; r++) {
    __syncthreads();
    if (threadIdx.x >= 32 && late) __nanosleep(1000);
    __syncwarp();
    asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
    asm volatile("bar.sync 0;" ::: "memory");
    follow<Kind>(f, d, u, word, never + r == 77);
    asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
    out[threadIdx.x] = end, out[threadIdx.x + 64] = start;
  }
  sink(int(f) + int(d) + int(u), keep);
}

unsigned *d_word, *d_out;

template <int Kind>
void take(const char *name) {
  for (int late : {0, 1}) {
    unsigned clocks[65];
    behind<Kind><<<1, 64>>>(late, 0, d_word, d_out, (int *)(d_out + 128));
    CK(cudaMemcpy(clocks, d_out, sizeof clocks, cudaMemcpyDeviceToHost));
    report("barrier", name, late, clocks[0] - clocks[64]);
  }
}

int main() {
  CK(cudaMalloc(&d_word, 4096));
  CK(cudaMalloc(&d_out, 4096));
  CK(cudaMemset(d_word, 0, 4096));
  take<kFma>("barrier_fma"), take<kManyFmas>("barrier_100_fmas"), take<kDouble>("barrier_double");
  take<kLogic>("barrier_logic"), take<kBranch>("barrier_branch"), take<kPopc>("barrier_popc");
  take<kShuffle>("barrier_shuffle"), take<kLoad>("barrier_load"), take<kStore>("barrier_store");
  return 0;
}
