// Launches that do not end, one a run, chosen by the first argument. With `good` as the second the twin runs.
#include <cstdio>
#include <cstring>
#include <cuda_runtime.h>

__device__ int locks[4], count, flags[2];

__device__ void take(int* lock) { while (atomicCAS(lock, 0, 1) != 0) { } }
__device__ void give(int* lock) { __threadfence(); atomicExch(lock, 0); }

// One block takes the lock and ends with it.
template <bool kBad> __global__ void lock_kept(int* out) {
  if (threadIdx.x != 0) return;
  take(&locks[0]);
  out[0] += 1;
  if (!kBad || blockIdx.x != 0) give(&locks[0]);
}
// Two blocks take two locks in opposite order, and are made to meet in between.
template <bool kBad> __global__ void lock_order(int* out) {
  if (threadIdx.x != 0) return;
  const int first = kBad ? blockIdx.x : 0;
  take(&locks[first]);
  if (kBad) {
    atomicAdd(&count, 1);
    while (*(volatile int*)&count < 2) { }
  }
  take(&locks[1 - first]);
  out[0] += 1;
  give(&locks[1 - first]);
  give(&locks[first]);
}
// The same by the last two blocks of many, while all others wait for one of the locks.
template <bool kBad> __global__ void lock_crowd(int* out) {
  if (threadIdx.x != 0) return;
  const int rank = gridDim.x - 1 - blockIdx.x;  // 0 and 1 are the two
  if (rank < 2) {
    const int first = kBad ? rank : 0;
    take(&locks[first]);
    atomicAdd(&count, 1);
    if (kBad) while (*(volatile int*)&count < 2) { }
    take(&locks[1 - first]);
    give(&locks[1 - first]);
    give(&locks[first]);
  } else {
    while (*(volatile int*)&count < 2) { }
    take(&locks[0]);
    give(&locks[0]);
  }
  out[blockIdx.x] = 1;
}
// The holder goes to a barrier that the others never reach, as they wait for the lock.
template <bool kBad> __global__ void lock_over_barrier(int* out) {
  if (threadIdx.x % 32 == 0) {
    take(&locks[0]);
    if (kBad) __syncthreads();
    out[0] += 1;
    give(&locks[0]);
  }
}
// A home-made grid barrier.
template <bool kBad> __global__ void grid_barrier(int* out) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(&count, 1);
    while (*(volatile int*)&count < int(gridDim.x)) { }
  }
  __syncthreads();
  out[blockIdx.x] = 1;
}
// Each of two blocks waits for the other's flag before it sets its own.
template <bool kBad> __global__ void flags_crossed(int* out) {
  if (threadIdx.x != 0) return;
  volatile int* own = &flags[blockIdx.x];
  volatile int* other = &flags[1 - blockIdx.x];
  if (!kBad) *own = 1;
  while (*other == 0) { }
  if (kBad) *own = 1;
  out[blockIdx.x] = 1;
}
// A flag that nobody ever sets.
template <bool kBad> __global__ void flag_forgotten(int* out) {
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = kBad ? 0 : 1;
  __syncthreads();
  while (flag == 0) { }
  out[threadIdx.x] = flag;
}

template <bool kBad> bool launch(const char* kind, int* out) {
  if (!strcmp(kind, "lock_kept")) lock_kept<kBad><<<2, 32>>>(out);
  else if (!strcmp(kind, "lock_order")) lock_order<kBad><<<2, 32>>>(out);
  else if (!strcmp(kind, "lock_crowd")) lock_crowd<kBad><<<100, 32>>>(out);
  else if (!strcmp(kind, "lock_over_barrier")) lock_over_barrier<kBad><<<1, 64>>>(out);
  else if (!strcmp(kind, "grid_barrier")) {
    int device = 0, sms = 0, each = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, grid_barrier<kBad>, 1024, 0);
    grid_barrier<kBad><<<sms * each + (kBad ? 1 : 0), 1024>>>(out);
  }
  else if (!strcmp(kind, "flags_crossed")) flags_crossed<kBad><<<2, 32>>>(out);
  else if (!strcmp(kind, "flag_forgotten")) flag_forgotten<kBad><<<1, 64>>>(out);
  else return false;
  return true;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int* out = nullptr;
  cudaMalloc(&out, 1 << 16);
  cudaMemset(out, 0, 1 << 16);
  const bool known = argc > 2 ? launch<false>(argv[1], out) : launch<true>(argv[1], out);
  if (!known) return 2;
  printf("launch %d\n", int(cudaGetLastError()));
  fflush(stdout);
  printf("sync %d\n", int(cudaDeviceSynchronize()));
  printf("free %d\n", int(cudaFree(out)));
}
