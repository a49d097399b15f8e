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

// One word of each sector, each sector once.
__global__ void store_sparse(int *p, int stride) { p[size_t(blockIdx.x * blockDim.x + threadIdx.x) * stride] = 1; }

// Words of a matrix written down its columns: each sector eight times, by eight warps.
__global__ void store_columns(int *p, int height) {
  p[size_t(blockIdx.x * 32 + threadIdx.x) * height + blockIdx.y * 8 + threadIdx.y] = 1;
}

// A word of local memory chosen by each lane: written and read back.
__global__ void local_words(int passes, long long *out, int *keep) {
  int table[64];
  for (int i = 0; i < 64; i++) table[i] = i;
  unsigned at = threadIdx.x * 7;
  __syncthreads();
  long long start = clock64();
  for (int k = 0; k < passes; k++) {
    table[at & 63] += k;
    at = at * 5 + 3;
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = clock64() - start;
  sink(table[at & 63], keep);
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
  long long *d;
  int *p;
  CK(cudaMalloc(&d, 8192));
  CK(cudaMalloc(&p, 64 << 20));
  CK(cudaMemset(p, 0, 64 << 20));
  char what[64];
  auto mean = [&](const char *name, int ctas, double x, double per) {
    report("scatter", name, x, mean_cycles(d, ctas) / per);
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
  cudaEvent_t before, after;
  CK(cudaEventCreate(&before));
  CK(cudaEventCreate(&after));
  auto timed = [&](const char *name, double x, double per, auto &&launch) {
    float best = 1e9f, ms;
    for (int r = 0; r < 5; r++) {
      CK(cudaEventRecord(before));
      launch();
      CK(cudaEventRecord(after));
      CK(cudaEventSynchronize(after));
      CK(cudaEventElapsedTime(&ms, before, after));
      if (ms < best) best = ms;
    }
    report("scatter_ns", name, x, double(best) * 1e6 / per);
  };
  const int threads = 1 << 20;
  for (int stride : {1, 2, 4, 8, 16})
    timed("store_sparse_us", stride, 1e3, [&] { store_sparse<<<threads / 256, 256>>>(p, stride); });
  for (int height : {512, 520, 1024, 2048})
    timed("store_columns_us", height, 1e3, [&] {
      store_columns<<<dim3(threads * 2 / height / 32, height / 8), dim3(32, 8)>>>(p, height);
    });
  for (int ctas : {1, 132, 528}) {
    for (int r = 0; r < 2; r++) local_words<<<ctas, 128>>>(64, d, p);
    snprintf(what, sizeof what, "local_ctas%d", ctas);
    mean(what, ctas < 132 ? ctas : 132, 0, 64 * 4);
  }
  for (int warps : {1, 4, 8, 32})
    for (int stride : {1, 2, 4, 8, 16, 32}) {
      bank_chain<<<1, warps * 32>>>(stride, 256, d, p);
      snprintf(what, sizeof what, "lds_warps%d", warps);
      mean(what, 1, stride, 256);
    }
  return 0;
}
