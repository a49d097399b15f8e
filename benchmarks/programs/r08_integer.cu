// Integer work: hashes, division, bit fields, wide products, loops of unequal length.
#include "common.cuh"

__global__ void hash(const unsigned *in, unsigned *out, int rounds) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = in[i];
  for (int r = 0; r < rounds; r++) {
    v ^= v >> 16, v *= 0x85ebca6bu;
    v ^= v >> 13, v *= 0xc2b2ae35u;
    v ^= v >> 16;
  }
  out[i] = v;
}

__global__ void divide(const unsigned *in, unsigned *out, unsigned by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = in[i], sum = 0;
  for (int k = 0; k < 8; k++) sum += v / (by + k) + v % (by + k);
  out[i] = sum;
}

__global__ void wide(const unsigned long long *in, unsigned long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long v = in[i];
  for (int k = 0; k < 16; k++) v = v * 6364136223846793005ull + __umul64hi(v, 1442695040888963407ull);
  out[i] = v;
}

__global__ void bits(const unsigned *in, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned v = in[i], sum = 0;
  for (int k = 0; k < 16; k++) {
    sum += __popc(v) + __clz(v) + __brev(v);
    v = __funnelshift_l(v, sum, 5) ^ __byte_perm(v, sum, 0x1302);
  }
  out[i] = sum;
}

__global__ void collatz(const unsigned *in, unsigned *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned long long v = in[i] + 1;
  unsigned steps = 0;
  while (v != 1) v = v & 1 ? 3 * v + 1 : v >> 1, steps++;
  out[i] = steps;
}

__global__ void dp4a(const int *a, const int *b, int *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;
  for (int k = 0; k < 32; k++) sum = __dp4a(a[i] + k, b[i] ^ k, sum);
  out[i] = sum;
}

int main() {
  const int n = 1 << 17;
  unsigned *in = randoms<unsigned>(2 * n, 1 << 16), *out = zeros<unsigned>(2 * n);
  hash<<<n / 256, 256>>>(in, out, 32);
  done("hash", out, n);
  divide<<<n / 256, 256>>>(in, out, 7);
  done("divide", out, n);
  wide<<<n / 256, 256>>>((unsigned long long *)in, (unsigned long long *)out);
  done("wide", out, n);
  bits<<<n / 256, 256>>>(in, out);
  done("bits", out, n);
  collatz<<<n / 4 / 128, 128>>>(in, out);
  done("collatz", out, n / 4);
  dp4a<<<n / 256, 256>>>((int *)in, (int *)in + n, (int *)out);
  done("dp4a", out, n);
}
