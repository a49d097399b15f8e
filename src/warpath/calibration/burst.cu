// Loads of all warps at once, from DRAM: how long each takes, by how many there are.
#include <algorithm>
#include <vector>

#include "common.cuh"

constexpr size_t kRegion = 16 << 20;  // words; a load has a region of its own, which L2 does not hold

// Two loads of each lane, one after the other; lanes are `stride` words apart.
__global__ void loads(const unsigned* data, int stride, long long* out) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned* p = data + i * stride;
  unsigned x = 0;
#pragma unroll
  for (int k = 0; k < 2; k++) {
    long long start = clock64();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(x) : "l"(p + k * kRegion + (x & 1)) : "memory");
    if (x == 12345) *out = 1;  // never; it takes the value, so the clock is read after that
    long long end = clock64();
    if (threadIdx.x % 32 == 0) out[i / 32 * 2 + k] = end - start;
  }
}

int main() {
  unsigned *data, *other;
  long long* d;
  CK(cudaMalloc(&data, kRegion * 8 + (32 << 20)));
  CK(cudaMalloc(&other, 256 << 20));
  CK(cudaMalloc(&d, 1 << 18));
  CK(cudaMemset(data, 0, kRegion * 8 + (32 << 20)));
  char what[64];
  for (int ctas : {132, 512, 1024})
    for (int stride : {1, 8}) {
      CK(cudaMemset(other, 0, 256 << 20));  // throws the regions out of L2
      loads<<<ctas, 256>>>(data, stride, d);
      std::vector<long long> all(ctas * 16), one(ctas * 8);
      CK(cudaMemcpy(all.data(), d, all.size() * 8, cudaMemcpyDeviceToHost));
      for (int k = 0; k < 2; k++) {
        for (int w = 0; w < ctas * 8; w++) one[w] = all[w * 2 + k];
        std::sort(one.begin(), one.end());
        for (auto [name, at] : {std::pair{"q10", .1}, {"q50", .5}, {"q90", .9}, {"q99", .99}, {"max", 1.}}) {
          snprintf(what, sizeof what, "burst_stride%d_load%d_%s", stride * 4, k, name);
          report("burst", what, ctas, double(one[std::min<size_t>(one.size() - 1, size_t(at * one.size()))]));
        }
      }
    }
  return 0;
}
