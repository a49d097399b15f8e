// Accesses that nothing orders, each kernel with its healthy twin.
#include "common.h"

constexpr int kThreads = 128;

template <bool kBad> __device__ inline void barrier() {
  if (!kBad) __syncthreads();
}
template <class T, bool kBad> __global__ void shared_read_after_write(int* out) {
  __shared__ T s[kThreads];
  const int t = threadIdx.x;
  s[t] = make<T>(t);
  barrier<kBad>();
  out[t] = first(s[kThreads - 1 - t]);
}
template <class T, bool kBad> __global__ void shared_write_after_read(int* out) {
  __shared__ T s[kThreads];
  const int t = threadIdx.x;
  s[t] = make<T>(t);
  __syncthreads();
  const int v = first(s[(t + 32) % kThreads]);
  barrier<kBad>();
  s[t] = make<T>(v + 1);
  __syncthreads();
  out[t] = first(s[t]);
}
template <class T, bool kBad> __global__ void shared_write_after_write(int* out) {
  __shared__ T s[kThreads];
  const int t = threadIdx.x;
  s[kBad ? t % 32 : t] = make<T>(t + 1);
  __syncthreads();
  out[t] = first(s[t % 32]);
}
template <class T, bool kBad> __global__ void warp_without_sync(int* out) {
  __shared__ T s[kThreads];
  const int t = threadIdx.x;
  s[t] = make<T>(t);
  if (!kBad) __syncwarp();
  out[t] = first(s[t ^ 1]);
}
template <class T, bool kBad> __global__ void atomic_and_plain(int* out) {
  __shared__ T sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, T(1));
  barrier<kBad>();
  out[threadIdx.x] = int(sum);
}
template <class T, bool kBad> __global__ void global_read_after_write(T* g, int* out) {
  const int t = threadIdx.x;
  g[t] = make<T>(t);
  barrier<kBad>();
  out[t] = first(g[kThreads - 1 - t]);
}
template <class T, bool kBad> __global__ void global_between_blocks(T* g, int* out) {
  const int t = threadIdx.x, b = blockIdx.x;
  if (kBad) {
    if (b == 0) g[t] = make<T>(t + 1);
    if (b == 1) out[t] = first(g[t]);
  } else {
    g[b * kThreads + t] = make<T>(t + 1);
    out[b * kThreads + t] = first(g[b * kThreads + t]);
  }
}
template <class T, bool kBad> __global__ void global_write_by_all(T* g) {
  if (kBad || blockIdx.x == 0) g[threadIdx.x] = make<T>(blockIdx.x + 1);
}
template <class T, bool kBad> __global__ void flag_without_fence(T* data, int* flag, int* out) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = make<T>(7);
    if (!kBad) __threadfence();
    atomicExch(flag, 1);
  } else {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    out[0] = first(*data);
  }
}
template <class T, bool kBad> __global__ void last_block_without_fence(T* part, unsigned* count, int* out) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = make<T>(blockIdx.x);
    if (!kBad) __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) out[threadIdx.x] = first(part[threadIdx.x]);
}
// Half of the block meets at a barrier of its own; the fault: the other half reads as well.
template <class T, bool kBad> __global__ void named_barrier(int* out) {
  __shared__ T s[kThreads];
  const int t = threadIdx.x;
  if (t < 64) {
    s[t] = make<T>(t);
    asm volatile("bar.sync 1, 64;" ::: "memory");
    out[t] = first(s[63 - t]);
  } else if (kBad) {
    out[t] = first(s[t - 64]);
  }
}

template <class T, bool kBad> void shared(int* out) {
  shared_read_after_write<T, kBad><<<1, kThreads>>>(out);
  shared_write_after_read<T, kBad><<<1, kThreads>>>(out);
  shared_write_after_write<T, kBad><<<1, kThreads>>>(out);
  wait("shared");
}
template <class T, bool kBad> void global(int* out) {
  T* g = device<T>(2 * kThreads);
  global_read_after_write<T, kBad><<<1, kThreads>>>(g, out);
  global_between_blocks<T, kBad><<<2, kThreads>>>(g, out);
  global_write_by_all<T, kBad><<<2, kThreads>>>(g);
  wait("global");
  check(cudaFree(g), "free");
}
template <bool kBad> void others(int* out) {
  int* g = device<int>(kThreads);
  warp_without_sync<int, kBad><<<1, kThreads>>>(out);
  atomic_and_plain<int, kBad><<<1, kThreads>>>(out);
  flag_without_fence<int, kBad><<<2, 32>>>(g, g + 1, out);
  last_block_without_fence<int, kBad><<<4, 32>>>(g + 8, reinterpret_cast<unsigned*>(g + 2), out);
  named_barrier<int, kBad><<<1, kThreads>>>(out);
  wait("others");
  check(cudaFree(g), "free");
}
template <class T> void both(int* out) {
  shared<T, true>(out);
  shared<T, false>(out);
  global<T, true>(out);
  global<T, false>(out);
}

int main() {
  int* out = device<int>(2 * kThreads);
  both<char>(out);
  both<short>(out);
  both<int>(out);
  both<long long>(out);
  both<int4>(out);
  others<true>(out);
  others<false>(out);
  check(cudaFree(out), "free");
  printf("end\n");
}
