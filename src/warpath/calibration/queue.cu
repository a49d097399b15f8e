// Loads that come behind stores, of one SM and of all; and how fast an SM takes stores to many lines.
#include <vector>

#include "common.cuh"

constexpr int kRounds = 64;
constexpr int kWords = 132 * 32 * 32;

// N stores of each warp, whose lanes are `stride` bytes apart, then a load that L2 answers.
template <int N>
__global__ void behind(char *stored, const unsigned *loaded, int stride, unsigned *out) {
  const int lane = threadIdx.x % 32, warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  unsigned start, end, x;
  __syncthreads();
#pragma unroll
  for (int i = 0; i < N; i++) {
    char *p = stored + (size_t(warp) * N + i) * 32 * stride + lane * stride;
    asm volatile("st.global.u32 [%0], %1;" ::"l"(p), "r"(lane) : "memory");
  }
  asm volatile("mov.u32 %0, %%clock;" : "=r"(start)::"memory");
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(loaded + warp * 32 + lane) : "memory");
  if (x == 12345) *out = 1;  // never; it takes the value, so the clock is read after that
  asm volatile("mov.u32 %0, %%clock;" : "=r"(end)::"memory");
  if (lane == 0) out[warp] = end - start;
}

// Stores of `lanes` lines each, four sets of them in turn.
__global__ void again(char *p, int lanes, long long *out) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();
  long long start = clock64();
  for (int r = 0; r < kRounds; r++)
    if (lane < lanes) *(volatile int *)(p + ((r * 8 + warp) % 4 * 32 + lane) * 128) = r;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) *out = clock64() - start;
}

__global__ void touch(const unsigned *p, unsigned *out) {
  unsigned sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < kWords; i += gridDim.x * blockDim.x) sum += __ldcg(p + i);
  if (sum == 12345) *out = sum;
}

char *d_stored;
unsigned *d_loaded, *d_out;

template <int N>
void take() {
  char what[64];
  for (int ctas : {1, 132})
    for (int warps : {1, 8})
      for (int stride : {4, 16, 32, 128}) {
        for (int r = 0; r < 3; r++) {
          touch<<<132, 1024>>>(d_loaded, d_out);
          behind<N><<<ctas, warps * 32>>>(d_stored, d_loaded, stride, d_out);
        }
        std::vector<unsigned> each(ctas * warps);
        CK(cudaMemcpy(each.data(), d_out, each.size() * 4, cudaMemcpyDeviceToHost));
        double sum = 0;
        for (unsigned one : each) sum += one;
        snprintf(what, sizeof what, "load_behind%d_warps%d_ctas%d", N, warps, ctas);
        report("queue", what, stride, sum / each.size());
      }
}

int main() {
  CK(cudaMalloc(&d_stored, 64 << 20));
  CK(cudaMalloc(&d_loaded, kWords * 4));
  CK(cudaMalloc(&d_out, 1 << 16));
  CK(cudaMemset(d_stored, 0, 20 << 20));
  CK(cudaMemset(d_loaded, 0, kWords * 4));
  take<0>(), take<1>(), take<2>(), take<4>();
  for (int lanes : {8, 16, 32}) {
    for (int r = 0; r < 2; r++) again<<<1, 256>>>(d_stored, lanes, (long long *)d_out);
    report("queue", "stores_again", lanes, mean_cycles((long long *)d_out, 1) / (kRounds * 8));
  }
  return 0;
}
