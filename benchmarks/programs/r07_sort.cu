// Sorting and counting inside a block: compare and exchange, ballots, matching lanes.
#include "common.cuh"

__global__ void bitonic(int *keys) {
  __shared__ int s[1024];
  int t = threadIdx.x;
  int *mine = keys + blockIdx.x * 1024;
  s[t] = mine[t], s[t + 512] = mine[t + 512];
  for (int size = 2; size <= 1024; size *= 2)
    for (int d = size / 2; d; d /= 2) {
      __syncthreads();
      int i = 2 * t - (t & (d - 1)), up = (i & size) == 0, p = s[i], q = s[i + d];
      if ((p > q) == up) s[i] = q, s[i + d] = p;
    }
  __syncthreads();
  mine[t] = s[t], mine[t + 512] = s[t + 512];
}

__global__ void digits(const unsigned *keys, unsigned *count, int n) {
  __shared__ unsigned bins[16];
  if (threadIdx.x < 16) bins[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned digit = keys[i] & 15, peers = __match_any_sync(~0u, digit);
  if (__ffs(peers) - 1 == int(threadIdx.x % 32)) atomicAdd(&bins[digit], __popc(peers));
  __syncthreads();
  if (threadIdx.x < 16) count[blockIdx.x * 16 + threadIdx.x] = bins[threadIdx.x];
}

__global__ void compact(const int *in, int *out, int *used, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
  bool keep = i < n && in[i] % 3 == 0;
  unsigned mask = __ballot_sync(~0u, keep);
  int base = 0;
  if (lane == 0 && mask) base = atomicAdd(used, __popc(mask));
  base = __shfl_sync(~0u, base, 0);
  if (keep) out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
}

__global__ void insertion(int *keys) {
  int v[16];
  int *mine = keys + (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  for (int i = 0; i < 16; i++) v[i] = mine[i];
  for (int i = 1; i < 16; i++)
    for (int j = 15; j >= i; j--)
      if (v[j] < v[j - 1]) {
        int swap = v[j];
        v[j] = v[j - 1], v[j - 1] = swap;
      }
  for (int i = 0; i < 16; i++) mine[i] = v[i];
}

int main() {
  const int n = 1 << 18;
  int *keys = randoms<int>(n, 1 << 20), *out = zeros<int>(n), *used = zeros<int>(1);
  compact<<<n / 256, 256>>>(keys, out, used, n);
  done("compact", used, 1);
  digits<<<n / 256, 256>>>((unsigned *)keys, (unsigned *)out, n);
  done("digits", out, n / 16);
  insertion<<<n / 16 / 128, 128>>>(keys);
  done("insertion", keys, n);
  bitonic<<<n / 1024, 512>>>(keys);
  done("bitonic", keys, n);
}
