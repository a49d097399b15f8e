// How far the address translation of the GPU reaches: dependent loads, each of another 2 MiB page, over more and more
// pages. All lines together fit in L2, so what grows with the pages is the way through the page tables.
#include <algorithm>
#include <vector>

#include "common.cuh"

constexpr size_t kPage = size_t(2) << 20;

__global__ void chase(const unsigned long long *p, unsigned long long at, int steps, long long *out, unsigned long long *keep) {
  for (int i = 0; i < steps; i++) at = __ldcg(p + at);  // once around: lines are in L2, translations where they end up
  long long start = clock64();
  for (int i = 0; i < steps; i++) at = __ldcg(p + at);
  out[0] = clock64() - start;
  *keep = at;
}

__global__ void link(unsigned long long *p, const unsigned long long *next, int pages) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pages; i += gridDim.x * blockDim.x) p[next[2 * i]] = next[2 * i + 1];
}

int main() {
  long long *d_out, cycles;
  unsigned long long *d_keep, *p, *d_next;
  size_t most = size_t(96) << 30, free_bytes, total;
  CK(cudaMemGetInfo(&free_bytes, &total));
  while (most > free_bytes * 9 / 10) most /= 2;
  CK(cudaMalloc(&p, most));
  CK(cudaMalloc(&d_out, 8));
  CK(cudaMalloc(&d_keep, 8));
  CK(cudaMalloc(&d_next, most / kPage * 16));
  for (size_t pages = 16; pages <= most / kPage; pages += pages / 2) {
    std::vector<unsigned long long> order(pages), next(pages * 2);
    for (size_t i = 0; i < pages; i++) order[i] = i;
    unsigned long long state = 88172645463325252ull;
    for (size_t i = pages - 1; i > 0; i--) {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      std::swap(order[i], order[state % (i + 1)]);
    }
    // Another line of each page, so that lines spread over the sets of L2.
    auto place = [&](size_t page) { return (page * kPage + page * 2654435761ull % (kPage / 128) * 128) / 8; };
    for (size_t i = 0; i < pages; i++) {
      next[2 * i] = place(order[i]);
      next[2 * i + 1] = place(order[(i + 1) % pages]);
    }
    CK(cudaMemcpy(d_next, next.data(), next.size() * 8, cudaMemcpyHostToDevice));
    link<<<128, 256>>>(p, d_next, int(pages));
    chase<<<1, 1>>>(p, place(order[0]), int(pages), d_out, d_keep);
    CK(cudaMemcpy(&cycles, d_out, 8, cudaMemcpyDeviceToHost));
    report("tlb", "chase_pages", double(pages), double(cycles) / double(pages));
  }
  return 0;
}
