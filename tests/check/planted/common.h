// What the planted programs share. A kernel's last template argument says whether it has the fault or is its twin.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

template <class T> __host__ __device__ inline T make(int v) { return T(v); }
template <> __host__ __device__ inline int4 make<int4>(int v) { return int4{v, v, v, v}; }
template <class T> __device__ inline int first(T v) { return int(v); }
template <> __device__ inline int first<int4>(int4 v) { return v.x; }

inline void check(cudaError_t code, const char* what) {
  if (code != cudaSuccess) printf("%s: %d\n", what, int(code));
}
template <class T> T* device(int count) {
  T* p = nullptr;
  check(cudaMalloc(&p, sizeof(T) * count), "malloc");
  check(cudaMemset(p, 0, sizeof(T) * count), "memset");
  return p;
}
inline void wait(const char* what) { check(cudaDeviceSynchronize(), what); }
