// Threads that leave before a barrier: allowed since sm_70, where a barrier counts the threads that have not exited.
#include "common.h"

__global__ void whole_warps_leave(int* out) {
  if (threadIdx.x >= 32) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}
__global__ void part_of_a_warp_leaves(int* out) {
  if (threadIdx.x >= 48) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

int main() {
  int* out = device<int>(64);
  whole_warps_leave<<<1, 64>>>(out);
  part_of_a_warp_leaves<<<1, 64>>>(out);
  wait("early");
  check(cudaFree(out), "free");
  printf("end\n");
}
