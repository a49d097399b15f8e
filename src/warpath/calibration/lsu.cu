// LSU and shared memory: cycles per request for widths, bank conflicts and warps; L1 hits; barriers.
#include "common.cuh"

constexpr int kSteps = 256;

template <int Words>
__global__ void shared_read(int stride, long long *out, int *keep) {
  __shared__ int s[12288];
  for (int i = threadIdx.x; i < 12288; i += blockDim.x) s[i] = 0;
  __syncthreads();
  int at = (threadIdx.x % 32) * stride * Words % (12288 - 4), sum = 0;
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) {
    if constexpr (Words == 1) {
      int v;
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"((unsigned)__cvta_generic_to_shared(s + at)));
      sum += v;
    } else if constexpr (Words == 2) {
      int v, w;
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v), "=r"(w) : "r"((unsigned)__cvta_generic_to_shared(s + at)));
      sum += v + w;
    } else {
      int v, w, x, y;
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v), "=r"(w), "=r"(x), "=r"(y)
                   : "r"((unsigned)__cvta_generic_to_shared(s + (at & ~3))));
      sum += v + w + x + y;
    }
  }
  long long end = clock64();
  __syncthreads();
  if (threadIdx.x == 0) out[0] = end - start;
  sink(sum, keep);
}

template <int Words>
__global__ void global_read(const int *p, int stride, long long *out, int *keep) {
  const int *q = p + (threadIdx.x % 32) * stride * Words;
  int sum = *q;
  __syncthreads();
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) {
    if constexpr (Words == 1) {
      int v;
      asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(v) : "l"(q));
      sum += v;
    } else {
      int v, w, x, y;
      asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v), "=r"(w), "=r"(x), "=r"(y) : "l"(q));
      sum += v + w + x + y;
    }
  }
  long long end = clock64();
  __syncthreads();
  if (threadIdx.x == 0) out[0] = end - start;
  sink(sum, keep);
}

__global__ void shared_write(int stride, long long *out) {
  __shared__ int s[4096];
  unsigned at = (unsigned)__cvta_generic_to_shared(s + (threadIdx.x % 32) * stride % 4096);
  __syncthreads();
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(k));
  long long end = clock64();
  __syncthreads();
  if (threadIdx.x == 0) out[0] = end - start;
}

__global__ void barriers(long long *out) {
  __syncthreads();
  long long start = clock64();
#pragma unroll 16
  for (int k = 0; k < kSteps; k++) __syncthreads();
  long long end = clock64();
  if (threadIdx.x == 0) out[0] = end - start;
}

int main() {
  long long *d, cycles;
  int *p;
  CK(cudaMalloc(&d, 256));
  CK(cudaMalloc(&p, 1 << 20));
  CK(cudaMemset(p, 0, 1 << 20));
  char what[64];
  auto read = [&](const char *name, int stride, int warps) {
    CK(cudaMemcpy(&cycles, d, 8, cudaMemcpyDeviceToHost));
    snprintf(what, sizeof what, "%s_stride%d", name, stride);
    report("lsu", what, warps, double(cycles) / kSteps);
  };
  for (int warps : {1, 2, 4, 8, 16, 32}) {
    for (int stride : {0, 1, 2, 4, 8, 16, 32}) {
      for (int r = 0; r < 2; r++) shared_read<1><<<1, 32 * warps>>>(stride, d, (int *)(d + 4));
      read("lds32", stride, warps);
      for (int r = 0; r < 2; r++) shared_write<<<1, 32 * warps>>>(stride, d);
      read("sts32", stride, warps);
    }
    for (int r = 0; r < 2; r++) shared_read<2><<<1, 32 * warps>>>(1, d, (int *)(d + 4));
    read("lds64", 1, warps);
    for (int r = 0; r < 2; r++) shared_read<4><<<1, 32 * warps>>>(1, d, (int *)(d + 4));
    read("lds128", 1, warps);
    for (int stride : {1, 2, 8, 32}) {
      for (int r = 0; r < 2; r++) global_read<1><<<1, 32 * warps>>>(p, stride, d, (int *)(d + 4));
      read("ldg32", stride, warps);
    }
    for (int r = 0; r < 2; r++) global_read<4><<<1, 32 * warps>>>(p, 1, d, (int *)(d + 4));
    read("ldg128", 1, warps);
    for (int r = 0; r < 2; r++) barriers<<<1, 32 * warps>>>(d);
    read("bar", 0, warps);
  }
  return 0;
}
