// Misused barriers and masks, and reads of what nobody wrote, each kernel with its healthy twin.
#include "common.h"

constexpr int kThreads = 64;

template <bool kBad> __global__ void barrier_in_both_branches(int* out) {
  __shared__ int s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;
  if (kBad) {
    if (t < 32) {
      __syncthreads();
      out[t] = s[63 - t] + 1;
    } else {
      s[t] *= 2;
      __syncthreads();
      out[t] = s[63 - t] + 2;
    }
  } else {
    __syncthreads();
    out[t] = s[63 - t];
  }
}
template <bool kBad> __global__ void barrier_of_some(int* out) {
  __shared__ int s[kThreads];
  const int t = threadIdx.x;
  s[t] = t;
  if (!kBad || t < 48) __syncthreads();
  out[t] = s[t];
}
template <bool kBad> __global__ void counts_differ(int* out) {
  const int t = threadIdx.x;
  if (t < 32) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  } else if (kBad) {
    asm volatile("bar.sync 1, 32;" ::: "memory");
  } else {
    asm volatile("bar.sync 1, 64;" ::: "memory");
  }
  out[t] = t;
}
template <bool kBad> __global__ void mask_without_caller(const unsigned* mask, int* out) {
  const int t = threadIdx.x;
  const unsigned own = kBad ? mask[0] : mask[1];
  __syncwarp(own);
  out[t] = t;
}
template <bool kBad> __global__ void mask_of_others(const unsigned* mask, int* out) {
  const int t = threadIdx.x;
  if (t % 32 < 16) {
    out[t] = __shfl_sync(kBad ? mask[1] : mask[2], t, 3);
  } else {
    out[t] = 5;
  }
}

template <class T, bool kBad> __global__ void global_never_written(const T* p, int* out) {
  out[threadIdx.x] = first(p[threadIdx.x]);
}
template <class T, bool kBad> __global__ void shared_never_written(int* out) {
  __shared__ T s[kThreads];
  const int t = threadIdx.x;
  if (!kBad || t != 5) s[t] = make<T>(t);
  __syncthreads();
  out[t] = first(s[63 - t]);
}

template <class T, bool kBad> void init(int* out) {
  T* p = nullptr;
  check(cudaMalloc(&p, sizeof(T) * kThreads), "malloc");
  if (!kBad) check(cudaMemset(p, 0, sizeof(T) * kThreads), "memset");
  global_never_written<T, kBad><<<1, kThreads>>>(p, out);
  shared_never_written<T, kBad><<<1, kThreads>>>(out);
  wait("init");
  check(cudaFree(p), "free");
}
template <class T> void both(int* out) {
  init<T, true>(out);
  init<T, false>(out);
}
template <bool kBad> void sync(const unsigned* mask, int* out) {
  barrier_in_both_branches<kBad><<<1, kThreads>>>(out);
  barrier_of_some<kBad><<<1, kThreads>>>(out);
  counts_differ<kBad><<<1, kThreads>>>(out);
  mask_without_caller<kBad><<<1, kThreads>>>(mask, out);
  mask_of_others<kBad><<<1, kThreads>>>(mask, out);
  wait("sync");
}

int main(int argc, char**) {
  int* out = device<int>(kThreads);
  unsigned* mask = device<unsigned>(4);
  const unsigned masks[4] = {0x0000ffffu, 0xffffffffu, 0x0000ffffu, 0};
  check(cudaMemcpy(mask, masks, sizeof masks, cudaMemcpyHostToDevice), "copy");
  both<char>(out);
  both<short>(out);
  both<int>(out);
  both<long long>(out);
  both<int4>(out);
  sync<false>(mask, out);
  if (argc == 1) {
    sync<true>(mask, out);
  } else {  // on hardware the others may hang
    barrier_in_both_branches<true><<<1, kThreads>>>(out);
    barrier_of_some<true><<<1, kThreads>>>(out);
    wait("barriers");
  }
  check(cudaFree(out), "free");
  check(cudaFree(mask), "free");
  printf("end\n");
}
