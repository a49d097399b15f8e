// What every calibration program shares: checked calls, and one JSON line per measurement on stdout.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CK(call)                                                                             \
  do {                                                                                       \
    cudaError_t error_ = (call);                                                             \
    if (error_ != cudaSuccess) {                                                             \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));         \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

// Keeps a value alive without storing it on the measured path.
template <class T>
__device__ inline void sink(T value, T *where) {
  if (value == T(-123456789)) *where = value;
}

__device__ inline unsigned sm_id() {
  unsigned id;
  asm volatile("mov.u32 %0, %smid;" : "=r"(id));
  return id;
}

// What each CTA, or each warp, measured, on average.
inline double mean_cycles(const long long *device, int count) {
  std::vector<long long> cycles(count);
  CK(cudaMemcpy(cycles.data(), device, count * sizeof cycles[0], cudaMemcpyDeviceToHost));
  double sum = 0;
  for (long long one : cycles) sum += double(one);
  return sum / count;
}

inline void report(const char *probe, const char *what, double x, double cycles) {
  printf("{\"probe\": \"%s\", \"what\": \"%s\", \"x\": %.6g, \"cycles\": %.6g}\n", probe, what, x, cycles);
}
