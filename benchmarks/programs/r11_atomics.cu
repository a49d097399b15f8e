// Atomics that return a value, that collide, in shared memory, by compare and swap.
#include "common.cuh"

__global__ void tickets(int *counters, int *out, int mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = atomicAdd(&counters[i & mask], 1);
}

__global__ void spread(const int *index, float *bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[index[i]], 1.0f);
}

__global__ void shared_max(const int *in, int *out) {
  __shared__ int best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  atomicMax(&best, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(out, best);
}

__global__ void swap_max(const float *in, int *out, int mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int *at = &out[i & mask], seen = *at, mine = __float_as_int(in[i]);
  while (mine > seen) {
    int before = atomicCAS(at, seen, mine);
    if (before == seen) break;
    seen = before;
  }
}

__global__ void double_add(const double *in, double *sums, int mask) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&sums[i & mask], in[i]);
}

int main() {
  const int n = 1 << 16;
  int *counters = zeros<int>(1 << 20), *out = zeros<int>(n);
  tickets<<<n / 256, 256>>>(counters, out, n - 1);
  done("tickets of one's own", out, n);
  tickets<<<n / 256, 256>>>(counters, out, 1023);
  done("tickets shared", counters, 1024);
  spread<<<4 * n / 256, 256>>>(randoms<int>(4 * n, 1 << 20), (float *)counters, 4 * n);
  done("spread", (float *)counters, 1 << 20);
  shared_max<<<n / 256, 256>>>(randoms<int>(n, 1 << 20), out);
  done("shared_max", out, 1);
  swap_max<<<n / 256, 256>>>(randoms<float>(n, 1 << 20), counters, 4095);
  double_add<<<n / 256, 256>>>(randoms<double>(n), zeros<double>(64), 63);
  done("last", out, 1);
}
