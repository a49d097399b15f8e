// Plain streams by size: vector copies, writes alone, reads alone, three arrays in, unaligned rows.
#include "common.cuh"

__global__ void copy4(const float4 *in, float4 *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

__global__ void fill4(float4 *out) { out[blockIdx.x * blockDim.x + threadIdx.x] = make_float4(1, 2, 3, 4); }

__global__ void read4(const float4 *in, float *out) {
  int i = blockIdx.x * blockDim.x * 4 + threadIdx.x;
  float4 a = in[i], b = in[i + blockDim.x], c = in[i + 2 * blockDim.x], d = in[i + 3 * blockDim.x];
  float sum = a.x + b.y + c.z + d.w;
  if (sum == 12345.0f) out[0] = sum;
}

__global__ void triad(const float *a, const float *b, const float *c, float *d) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  d[i] = a[i] + b[i] * c[i];
}

__global__ void bytes(const unsigned char *in, unsigned char *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] ^ 0x55;
}

int main() {
  const int n = 1 << 24;
  float *in = zeros<float>(n), *out = zeros<float>(n);
  for (int size = 1 << 18; size <= n; size <<= 3) copy4<<<size / 4 / 256, 256>>>((float4 *)in, (float4 *)out);
  fill4<<<(1 << 20) / 256, 256>>>((float4 *)out);
  fill4<<<(1 << 18) / 256, 256>>>((float4 *)out);
  read4<<<(1 << 20) / 4 / 256, 256>>>((float4 *)in, out);
  read4<<<(1 << 22) / 4 / 256, 256>>>((float4 *)in, out);
  triad<<<(1 << 21) / 512, 512>>>(in, in + (1 << 21), in + (1 << 22), out);
  bytes<<<(1 << 22) / 256, 256>>>((unsigned char *)in, (unsigned char *)out);
  done("last", out, 1024);
}
