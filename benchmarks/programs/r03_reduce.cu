// Sums: shuffles and one atomic a block, vector loads, two stages, a divergent tree.
#include "common.cuh"

__device__ float warp_sum(float v) {
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
  return v;
}

__global__ void shuffles(const float *x, float *sum, int n) {
  __shared__ float part[32];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = warp_sum(threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) atomicAdd(sum, v);
  }
}

__global__ void dot4(const float4 *x, const float4 *y, float *part, int n) {
  __shared__ float s[256];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float4 a = x[i], b = y[i];
    v += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
  s[threadIdx.x] = v;
  __syncthreads();
  for (int d = blockDim.x / 2; d; d >>= 1) {
    if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}

__global__ void divergent(const float *x, float *part) {
  __shared__ float s[512];
  s[threadIdx.x] = x[blockIdx.x * 512 + threadIdx.x];
  __syncthreads();
  for (int d = 1; d < 512; d *= 2) {
    if (threadIdx.x % (2 * d) == 0) s[threadIdx.x] += s[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) part[blockIdx.x] = s[0];
}

__global__ void warp_atomics(const float *x, float *sum) {
  float v = warp_sum(x[blockIdx.x * blockDim.x + threadIdx.x]);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, v);
}

int main() {
  const int n = 1 << 21;
  float *x = randoms<float>(n), *y = randoms<float>(n), *out = zeros<float>(n);
  shuffles<<<528, 256>>>(x, out, n);
  done("shuffles", out, 1);
  dot4<<<264, 256>>>((float4 *)x, (float4 *)y, out, n / 4);
  done("dot4", out, 264);
  divergent<<<n / 2 / 512, 512>>>(x, out);
  done("divergent", out, n / 2 / 512);
  warp_atomics<<<n / 8 / 256, 256>>>(x, out);
  done("warp_atomics", out, 1);
  shuffles<<<1, 1024>>>(x, out, 1 << 15);
  done("one block", out, 1);
}
