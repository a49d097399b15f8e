// What waits for an answer from L2: atomics, fences; and wide shared loads whose lanes come in pairs.
#include "common.cuh"

constexpr int kSteps = 64;
enum Kind { kAdd, kSwap, kExchange, kFence, kStoreFence, kStoreLoad };

template <int What>
__global__ void wait(unsigned *p, long long *out, int *keep) {
  unsigned v = threadIdx.x;
  long long start = clock64();
  for (int k = 0; k < kSteps; k++) {
    if (What == kAdd) v = atomicAdd(p, v);
    if (What == kSwap) v = atomicCAS(p, v, v + 1);
    if (What == kExchange) v = atomicExch(p, v);
    if (What == kStoreFence || What == kStoreLoad) *(volatile unsigned *)p = v;
    if (What == kStoreLoad) v = *(volatile unsigned *)p;
    if (What == kFence || What == kStoreFence) {
      __threadfence();
      asm volatile("add.u32 %0, %0, 1;" : "+r"(v));
    }
  }
  long long end = clock64();
  if (threadIdx.x == 0) out[0] = end - start;
  sink(int(v), keep);
}

template <int Words>
__global__ void shared_wide(int pairs, long long *out, int *keep) {
  __shared__ __align__(16) int s[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) s[i] = 0;
  __syncthreads();
  unsigned at = (unsigned)__cvta_generic_to_shared(s) + threadIdx.x % 32 / pairs * Words * 4;
  int sum = 0;
  long long start = clock64();
  for (int k = 0; k < kSteps; k++) {
    int v, w, x = 0, y = 0;
    if (Words == 2) asm volatile("ld.shared.v2.b32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"(at));
    if (Words == 4)
      asm volatile("ld.shared.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "r"(at));
    sum += v | w | x | y;
    at += sum;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = clock64() - start;
  sink(sum, keep);
}

int main() {
  long long *d, cycles;
  unsigned *p;
  CK(cudaMalloc(&d, 256));
  CK(cudaMalloc(&p, 256));
  CK(cudaMemset(p, 0, 256));
  int *keep = (int *)(d + 4);
  auto read = [&](const char *name, double x) {
    CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
    report("order", name, x, double(cycles) / kSteps);
  };
  for (int lanes : {1, 32}) {
#define WAIT(kind, name)                                        \
  for (int r = 0; r < 2; r++) wait<kind><<<1, lanes>>>(p, d, keep); \
  read(name, lanes);
    WAIT(kAdd, "atomic_add")
    WAIT(kSwap, "atomic_swap")
    WAIT(kExchange, "atomic_exchange")
    WAIT(kFence, "fence")
    WAIT(kStoreFence, "store_fence")
    WAIT(kStoreLoad, "store_load")
  }
  for (int pairs : {1, 2, 4, 32}) {
    shared_wide<2><<<1, 1024>>>(pairs, d, keep);
    read("shared64_pairs", pairs);
    shared_wide<4><<<1, 1024>>>(pairs, d, keep);
    read("shared128_pairs", pairs);
  }
  return 0;
}
