// Accesses outside allocations that hardware lets pass: each kernel with the fault, and its twin without.
#include "common.h"

constexpr int kThreads = 64;

template <class T, bool kBad> __global__ void store_past_end(T* p) {
  const int i = threadIdx.x + (kBad ? 1 : 0);
  p[i] = make<T>(i);
}
template <class T, bool kBad> __global__ void load_past_end(const T* p, int* out) {
  out[threadIdx.x] = first(p[threadIdx.x + (kBad ? 1 : 0)]);
}
template <class T, bool kBad> __global__ void store_before(T* p) {
  const int i = int(threadIdx.x) - (kBad ? 1 : 0);
  p[i] = make<T>(i);
}
template <class T, bool kBad> __global__ void use_after_free(const T* p, int* out) {
  out[threadIdx.x] = first(p[threadIdx.x]);
}
template <class T, bool kBad> __global__ void atomic_past_end(T* p) { atomicAdd(p + threadIdx.x + (kBad ? 1 : 0), T(1)); }

__constant__ int table[16];
template <class T, bool kBad> __global__ void constant_past_end(const int* index, int* out) {
  out[threadIdx.x] = table[index[threadIdx.x] + (kBad ? 4000 : 0)];
}

template <class T, bool kBad> void run(int* out) {
  T* p = device<T>(kThreads);
  store_past_end<T, kBad><<<1, kThreads>>>(p);
  load_past_end<T, kBad><<<1, kThreads>>>(p, out);
  store_before<T, kBad><<<1, kThreads>>>(p);
  wait("bounds");
  T* keep = device<T>(kThreads);
  if (kBad) check(cudaFree(keep), "free");
  use_after_free<T, kBad><<<1, kThreads>>>(keep, out);
  wait("use after free");
  if (!kBad) check(cudaFree(keep), "free");
  check(cudaFree(p), "free");
}
template <class T> void run_atomic() {
  T* p = device<T>(kThreads);
  atomic_past_end<T, true><<<1, kThreads>>>(p);
  atomic_past_end<T, false><<<1, kThreads>>>(p);
  wait("atomic");
  check(cudaFree(p), "free");
}
template <class T> void both(int* out) {
  run<T, true>(out);
  run<T, false>(out);
}

int main() {
  int *out = device<int>(kThreads), *index = device<int>(kThreads);
  both<char>(out);
  both<short>(out);
  both<int>(out);
  both<long long>(out);
  both<int4>(out);
  run_atomic<int>();
  run_atomic<unsigned long long>();
  run_atomic<float>();
  int values[16] = {1, 2, 3};
  check(cudaMemcpyToSymbol(table, values, sizeof values), "symbol");
  constant_past_end<int, true><<<1, kThreads>>>(index, out);
  constant_past_end<int, false><<<1, kThreads>>>(index, out);
  wait("constant");
  check(cudaFree(out), "free");
  check(cudaFree(index), "free");
  printf("end\n");
}
