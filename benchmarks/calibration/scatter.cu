// Accesses that use little of each line: stores and loads at a stride, from L2, one SM and all; bank conflicts that no
// compiler can fold; indexed local memory.
#include "common.cuh"

__global__ void store_stride(int *p, int stride, int passes, long long *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  __syncthreads();
  long long start = clock64();
  for (int k = 0; k < passes; k++) p[size_t(i) * stride + (k & 1) * (stride > 8 ? 8 : 0)] = k;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
}

// stride in words between lanes; each pass reads other lines of the CTA's share, past L1.
__global__ void load_stride(const int *p, int stride, int passes, int bypass, long long *out, int *keep) {
  const int *mine = p + size_t(blockIdx.x) * blockDim.x * stride + threadIdx.x * stride;
  int sum = 0;
  long long start = 0;
  for (int k = 0; k <= passes; k++) {
    if (k == 1) {
      __syncthreads();
      start = clock64();
    }
    sum += bypass ? __ldcg(mine + (sum & 0)) : __ldca(mine + (sum & 0));
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
  sink(sum, keep);
}

__global__ void bank_chain(int stride, int steps, long long *out, int *keep) {
  __shared__ int s[2048];
  for (int i = threadIdx.x; i < 2048; i += blockDim.x) s[i] = 0;
  __syncthreads();
  int at = (threadIdx.x % 32) * stride;
  long long start = clock64();
  for (int k = 0; k < steps; k++) at += s[at];
  __syncthreads();
  if (threadIdx.x == 0) out[0] = clock64() - start;
  sink(at, keep);
}

int main() {
  long long *d, cycles[132];
  int *p;
  CK(cudaMalloc(&d, 4096));
  CK(cudaMalloc(&p, 64 << 20));
  CK(cudaMemset(p, 0, 64 << 20));
  char what[64];
  auto mean = [&](const char *name, int ctas, double x, double per) {
    CK(cudaMemcpy(cycles, d, ctas * 8, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < ctas; i++) sum += double(cycles[i]);
    report("scatter", name, x, sum / ctas / per);
  };
  for (int ctas : {1, 132})
    for (int stride : {1, 2, 4, 8, 16, 32, 64}) {
      for (int r = 0; r < 2; r++) store_stride<<<ctas, 256>>>(p, stride, 32, d);
      snprintf(what, sizeof what, "store_ctas%d", ctas);
      mean(what, ctas, stride, 32 * 8);
      for (int bypass : {1, 0}) {
        for (int r = 0; r < 2; r++) load_stride<<<ctas, 256>>>(p, stride, 32, bypass, d, p);
        snprintf(what, sizeof what, "load_%s_ctas%d", bypass ? "l2" : "l1", ctas);
        mean(what, ctas, stride, 32 * 8);
      }
    }
  for (int warps : {1, 4, 8, 32})
    for (int stride : {1, 2, 4, 8, 16, 32}) {
      bank_chain<<<1, warps * 32>>>(stride, 256, d, p);
      snprintf(what, sizeof what, "lds_warps%d", warps);
      mean(what, 1, stride, 256);
    }
  return 0;
}
