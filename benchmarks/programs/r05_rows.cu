// A row at a time: normalisation by warp and by block, online softmax, arg max.
#include "common.cuh"

__device__ float warp_sum(float v) {
  for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
  return v;
}

template <int PER> __global__ void layernorm_warp(const float *x, float *y) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  const float *in = x + size_t(row) * PER * 32;
  float v[PER], sum = 0, square = 0;
  for (int k = 0; k < PER; k++) v[k] = in[k * 32 + threadIdx.x], sum += v[k];
  float mean = warp_sum(sum) / (PER * 32);
  for (int k = 0; k < PER; k++) square += (v[k] - mean) * (v[k] - mean);
  float scale = rsqrtf(warp_sum(square) / (PER * 32) + 1e-5f);
  for (int k = 0; k < PER; k++) y[size_t(row) * PER * 32 + k * 32 + threadIdx.x] = (v[k] - mean) * scale;
}

__global__ void rmsnorm_block(const float4 *x, const float4 *weight, float4 *y, int width4) {
  __shared__ float part[8];
  const float4 *in = x + size_t(blockIdx.x) * width4;
  float sum = 0;
  for (int c = threadIdx.x; c < width4; c += blockDim.x) {
    float4 v = in[c];
    sum += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; k++) sum += part[k];
  float scale = rsqrtf(sum / (4 * width4) + 1e-5f);
  for (int c = threadIdx.x; c < width4; c += blockDim.x) {
    float4 v = in[c], w = weight[c];
    y[size_t(blockIdx.x) * width4 + c] = make_float4(v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w);
  }
}

__global__ void softmax_online(const float *x, float *y, int width) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  const float *in = x + size_t(row) * width;
  float top = -1e30f, sum = 0;
  for (int c = threadIdx.x; c < width; c += 32) {
    float v = in[c], higher = fmaxf(top, v);
    sum = sum * __expf(top - higher) + __expf(v - higher);
    top = higher;
  }
  for (int d = 16; d; d >>= 1) {
    float other = __shfl_xor_sync(~0u, top, d), others = __shfl_xor_sync(~0u, sum, d), higher = fmaxf(top, other);
    sum = sum * __expf(top - higher) + others * __expf(other - higher);
    top = higher;
  }
  for (int c = threadIdx.x; c < width; c += 32) y[size_t(row) * width + c] = __expf(in[c] - top) / sum;
}

__global__ void argmax(const float *x, int *best, int width) {
  int row = blockIdx.x;
  float top = -1e30f;
  int at = 0;
  for (int c = threadIdx.x; c < width; c += blockDim.x)
    if (x[size_t(row) * width + c] > top) top = x[size_t(row) * width + c], at = c;
  __shared__ float tops[128];
  __shared__ int ats[128];
  tops[threadIdx.x] = top, ats[threadIdx.x] = at;
  __syncthreads();
  for (int d = 64; d; d >>= 1) {
    if (threadIdx.x < d && tops[threadIdx.x + d] > tops[threadIdx.x])
      tops[threadIdx.x] = tops[threadIdx.x + d], ats[threadIdx.x] = ats[threadIdx.x + d];
    __syncthreads();
  }
  if (threadIdx.x == 0) best[row] = ats[0];
}

int main() {
  const int rows = 2048, width = 1024;
  float *x = randoms<float>(rows * width, 1000), *y = zeros<float>(rows * width), *w = randoms<float>(width);
  layernorm_warp<8><<<rows * 4 / 8, dim3(32, 8)>>>(x, y);
  done("layernorm 256", y, rows * width);
  layernorm_warp<32><<<rows / 4, dim3(32, 4)>>>(x, y);
  done("layernorm 1024", y, rows * width);
  rmsnorm_block<<<rows, 256>>>((float4 *)x, (float4 *)w, (float4 *)y, width / 4);
  done("rmsnorm", y, rows * width);
  softmax_online<<<rows / 8, dim3(32, 8)>>>(x, y, width);
  done("softmax", y, rows * width);
  argmax<<<rows, 128>>>(x, (int *)y, width);
  done("argmax", (int *)y, rows);
}
