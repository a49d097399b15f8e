// What the programs from r19 on share: results compared with those the host works out.
#pragma once
#include "common.cuh"
#include <cmath>

template <typename T> std::vector<T> download(const T *device, size_t n) {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  std::vector<T> host(n);
  CHECK(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

template <typename T> std::vector<T> random_host(size_t n, unsigned below = 16) {
  std::vector<T> host(n);
  Random random;
  for (auto &value : host) value = T(random.next() % below);
  return host;
}

// One line: the sum, and whether every value is within `tolerance` (relative above 1) of the host's.
template <typename T> void expect(const char *name, const T *device, const std::vector<T> &want, double tolerance = 0) {
  std::vector<T> got = download(device, want.size());
  double sum = 0;
  size_t wrong = 0;
  for (size_t i = 0; i < want.size(); i++) {
    sum += double(got[i]);
    if (!(std::fabs(double(got[i]) - double(want[i])) <= tolerance * (1 + std::fabs(double(want[i]))))) wrong++;
  }
  if (wrong) printf("%s %.6g: %zu of %zu WRONG\n", name, sum, wrong, want.size());
  else printf("%s %.6g ok\n", name, sum);
}
