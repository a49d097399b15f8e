// Cooperative groups: tiled partitions, shuffles, and a grid-wide barrier in a cooperative launch.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <vector>

namespace cg = cooperative_groups;

__global__ void sum(const int *in, int *partial, int *total, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<32>(block);
  __shared__ int warps[32];
  int mine = 0;
  for (int i = int(grid.thread_rank()); i < n; i += int(grid.size())) mine += in[i];
  mine = cg::reduce(tile, mine, cg::plus<int>());
  if (tile.thread_rank() == 0) warps[tile.meta_group_rank()] = mine;
  block.sync();
  if (block.thread_rank() == 0) {
    int all = 0;
    for (unsigned w = 0; w < tile.meta_group_size(); w++) all += warps[w];
    partial[blockIdx.x] = all;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    int all = 0;
    for (unsigned b = 0; b < gridDim.x; b++) all += partial[b];
    *total = all;
  }
}

int main() {
  int n = 200000, blocks = 24;
  std::vector<int> in(n);
  long long want = 0;
  for (int i = 0; i < n; i++) want += in[i] = i % 77;
  int *d_in, *d_partial, *d_total, got = 0;
  cudaMalloc(&d_in, n * sizeof(int));
  cudaMalloc(&d_partial, blocks * sizeof(int));
  cudaMalloc(&d_total, sizeof(int));
  cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  void *args[] = {&d_in, &d_partial, &d_total, &n};
  cudaError_t error = cudaLaunchCooperativeKernel((void *)sum, dim3(blocks), dim3(128), args, 0, 0);
  cudaMemcpy(&got, d_total, sizeof(int), cudaMemcpyDeviceToHost);
  printf("launch=%s got=%d want=%lld %s\n", cudaGetErrorString(error), got, want, got == want ? "PASS" : "FAIL");
  return got != want;
}
