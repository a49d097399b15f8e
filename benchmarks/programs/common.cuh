// What these programs share: filled device arrays and a sum that shows a kernel ran.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                                    \
  do {                                                                                                                 \
    cudaError_t error_ = (call);                                                                                       \
    if (error_ != cudaSuccess) {                                                                                       \
      printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_));                                          \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

// A small generator with a fixed seed: the same arrays on every machine.
struct Random {
  unsigned state = 12345;
  unsigned next() { return state = state * 1664525u + 1013904223u, state >> 8; }
};

template <typename T> T *zeros(size_t n) {
  T *p;
  CHECK(cudaMalloc(&p, n * sizeof(T)));
  CHECK(cudaMemset(p, 0, n * sizeof(T)));
  return p;
}

template <typename T> T *upload(const std::vector<T> &host) {
  T *p;
  CHECK(cudaMalloc(&p, host.size() * sizeof(T)));
  CHECK(cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice));
  return p;
}

// n values between 0 and `below`.
template <typename T> T *randoms(size_t n, unsigned below = 16) {
  std::vector<T> host(n);
  Random random;
  for (auto &value : host) value = T(random.next() % below);
  return upload(host);
}

template <typename T> void done(const char *name, const T *device, size_t n) {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<T> host(n);
  CHECK(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
  double sum = 0;
  for (auto value : host) sum += double(value);
  printf("%s %.6g\n", name, sum);
}
