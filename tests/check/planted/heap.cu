// Blocks inside larger memory: device-side malloc(), and pools of stream-ordered allocations. Each kernel with the
// fault, and its twin without.
#include "common.h"

constexpr int kThreads = 32;

template <class T, bool kBad> __global__ void heap_store_past_end(int* out) {
  T* own = static_cast<T*>(malloc(3 * sizeof(T)));
  for (int i = 0; i < (kBad ? 4 : 3); ++i) own[i] = make<T>(i);
  out[threadIdx.x] = first(own[1]);
  free(own);
}
template <class T, bool kBad> __global__ void heap_load_past_end(int* out, int n) {
  T* own = static_cast<T*>(malloc(3 * sizeof(T)));
  for (int i = 0; i < 3; ++i) own[i] = make<T>(i);
  out[threadIdx.x] = first(own[n]);
  free(own);
}
template <class T, bool kBad> __global__ void heap_use_after_free(int* out) {
  volatile char* own = static_cast<char*>(malloc(3 * sizeof(T)));
  own[0] = 1;
  if (!kBad) out[threadIdx.x] = own[0];
  free(const_cast<char*>(own));
  if (kBad) out[threadIdx.x] = own[0];
}
template <class T, bool kBad> __global__ void pool_store_past_end(T* p) {
  p[threadIdx.x + (kBad ? 1 : 0)] = make<T>(threadIdx.x);
}
template <class T, bool kBad> __global__ void pool_use_after_free(const T* p, int* out) {
  out[threadIdx.x] = first(p[threadIdx.x]);
}

template <class T, bool kBad> void run(int* out) {
  heap_store_past_end<T, kBad><<<1, kThreads>>>(out);
  heap_load_past_end<T, kBad><<<1, kThreads>>>(out, kBad ? 3 : 2);
  heap_use_after_free<T, kBad><<<1, kThreads>>>(out);
  wait("heap");
  T *p = nullptr, *gone = nullptr;
  check(cudaMallocAsync(reinterpret_cast<void**>(&p), kThreads * sizeof(T), 0), "malloc");
  check(cudaMallocAsync(reinterpret_cast<void**>(&gone), kThreads * sizeof(T), 0), "malloc");
  check(cudaMemsetAsync(gone, 0, kThreads * sizeof(T), 0), "memset");
  pool_store_past_end<T, kBad><<<1, kThreads>>>(p);
  if (kBad) check(cudaFreeAsync(gone, 0), "free");
  wait("pool");
  pool_use_after_free<T, kBad><<<1, kThreads>>>(gone, out);
  wait("pool, freed");
  if (!kBad) check(cudaFreeAsync(gone, 0), "free");
  check(cudaFreeAsync(p, 0), "free");
}
template <class T> void both(int* out) {
  run<T, true>(out);
  run<T, false>(out);
}

int main() {
  int* out = device<int>(kThreads);
  both<char>(out);
  both<short>(out);
  both<int>(out);
  both<long long>(out);
  both<int4>(out);
  check(cudaFree(out), "free");
  printf("end\n");
}
