// Attention of one head in single precision, a query a thread, keys and values in shared memory; and 2:4 pieces of it.
#include "common.cuh"

template <int D> __global__ void attention(const float *q, const float *k, const float *v, float *o, int length) {
  __shared__ float ks[32][D], vs[32][D];
  int query = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
  size_t base = size_t(head) * length * D;
  float mine[D], sum[D] = {}, top = -1e30f, norm = 0;
  for (int d = 0; d < D; d++) mine[d] = q[base + size_t(query) * D + d] * 0.125f;
  for (int start = 0; start < length; start += 32) {
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * D; i += blockDim.x) {
      ks[i / D][i % D] = k[base + size_t(start) * D + i];
      vs[i / D][i % D] = v[base + size_t(start) * D + i];
    }
    __syncthreads();
    for (int j = 0; j < 32; j++) {
      float score = 0;
      for (int d = 0; d < D; d++) score += mine[d] * ks[j][d];
      float higher = fmaxf(top, score), old = __expf(top - higher), fresh = __expf(score - higher);
      norm = norm * old + fresh;
      for (int d = 0; d < D; d++) sum[d] = sum[d] * old + fresh * vs[j][d];
      top = higher;
    }
  }
  for (int d = 0; d < D; d++) o[base + size_t(query) * D + d] = sum[d] / norm;
}

int main() {
  const int heads = 8, length = 512, d = 32;
  const size_t n = size_t(heads) * length * d;
  float *q = randoms<float>(n, 4), *k = randoms<float>(n, 4), *v = randoms<float>(n, 4), *o = zeros<float>(n);
  attention<d><<<dim3(length / 128, heads), 128>>>(q, k, v, o, length);
  done("attention 128", o, n);
  attention<d><<<dim3(length / 32, heads), 32>>>(q, k, v, o, length);
  done("attention 32", o, n);
}
