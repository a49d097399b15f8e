// Thrust: sort keys, sort pairs by key, transform-reduce, unique.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

struct Square {
  __host__ __device__ long long operator()(unsigned x) const { return (long long)(x % 1000) * (x % 1000); }
};

int main() {
  const int n = 20000;
  std::vector<unsigned> host(n);
  unsigned state = 12345;
  for (auto &x : host) x = state = state * 1664525u + 1013904223u;
  thrust::device_vector<unsigned> keys(host.begin(), host.end());
  thrust::device_vector<int> order(n);
  for (int i = 0; i < n; i++) host[i] %= 5000;
  thrust::device_vector<unsigned> small(host.begin(), host.end());
  long long squares = thrust::transform_reduce(keys.begin(), keys.end(), Square(), 0LL, thrust::plus<long long>());
  thrust::sort(keys.begin(), keys.end());
  std::vector<int> index(n);
  for (int i = 0; i < n; i++) index[i] = i;
  thrust::copy(index.begin(), index.end(), order.begin());
  thrust::stable_sort_by_key(small.begin(), small.end(), order.begin());
  std::vector<int> got(n);
  thrust::copy(order.begin(), order.end(), got.begin());
  int distinct = int(thrust::unique(small.begin(), small.end()) - small.begin());

  std::stable_sort(index.begin(), index.end(), [&](int a, int b) { return host[a] < host[b]; });
  int bad = 0;
  for (int i = 0; i < n; i++) bad += got[i] != index[i];
  std::vector<unsigned> sorted(n);
  thrust::copy(keys.begin(), keys.end(), sorted.begin());
  bad += !std::is_sorted(sorted.begin(), sorted.end());
  std::sort(host.begin(), host.end());
  bad += distinct != int(std::unique(host.begin(), host.end()) - host.begin());
  printf("min=%u max=%u distinct=%d squares=%lld bad=%d %s\n", sorted[0], sorted[n - 1], distinct, squares, bad,
         bad ? "FAIL" : "PASS");
  return bad != 0;
}
