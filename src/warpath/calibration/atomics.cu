// Global atomics on one address, on a few, on one a thread; shared atomics. Durations come from the profiler.
#include "common.cuh"

__global__ void spread(unsigned *p, unsigned mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(p + (i & mask), 1u);
}
__global__ void returning(unsigned *p, unsigned mask, unsigned *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = atomicAdd(p + (i & mask), 1u);
}
__global__ void scattered(unsigned *p, unsigned mask, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(p + (i * 2654435761u >> 8 & mask), 1u);
}
// One lane of each warp: `mask` + 1 words in turn.
template <class T> __global__ void one(T *p, unsigned mask) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i % 32 == 0) atomicAdd(p + (i / 32 & mask), T(1));
}
__device__ inline unsigned hash(unsigned i) {
  i *= 2654435761u, i ^= i >> 15, i *= 2246822519u;
  return i ^ i >> 13;
}
template <class T> __global__ void random(T *p, unsigned mask) {
  atomicAdd(p + (hash(blockIdx.x * blockDim.x + threadIdx.x) & mask), T(1));
}
template <class T> __global__ void random_returning(T *p, unsigned mask, T *out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = atomicAdd(p + (hash(i) & mask), T(1));
}
__global__ void in_shared(unsigned *p, unsigned mask, int n) {
  __shared__ unsigned s[1024];
  for (int i = threadIdx.x; i < 1024; i += blockDim.x) s[i] = 0;
  __syncthreads();
  for (int k = 0; k < 16; k++) atomicAdd(s + ((threadIdx.x * 37 + k) & mask), 1u);
  __syncthreads();
  if (s[threadIdx.x & 1023] == 0xffffffff) *p = n;
}

int main() {
  unsigned *p, *out;
  const int n = 1 << 18;
  CK(cudaMalloc(&p, 64 << 20));
  CK(cudaMalloc(&out, 4 * n * 4));
  CK(cudaMemset(p, 0, 64 << 20));
  for (unsigned mask : {0u, 1u, 31u, 255u, 4095u, 0xfffffu}) {
    spread<<<n / 256, 256>>>(p, mask, n);
    scattered<<<n / 256, 256>>>(p, mask, n);
    returning<<<n / 256, 256>>>(p, mask, out, n);
    in_shared<<<132, 256>>>(p, mask & 1023, n);
  }
  for (int blocks : {1024, 3072}) {
    one<<<blocks, 256>>>(p, 0);
    one<<<blocks, 256>>>((float *)p, 0);
    spread<<<blocks, 256>>>(p, 31, blocks * 256);
    random<<<blocks, 256>>>(p, 4095);
    random<<<blocks, 256>>>((float *)p, 4095);
    random_returning<<<blocks, 256>>>(p, 4095, out);
  }
  CK(cudaDeviceSynchronize());
  return 0;
}
