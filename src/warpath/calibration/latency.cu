// Dependent loads timed inside the kernel: L1, L2 near and far, DRAM, TLB; shared, constant and local memory; atomics.
#include <vector>

#include "common.cuh"

__global__ void chase(const unsigned *p, unsigned at, int steps, int bypass, long long *out, unsigned *keep) {
  for (int i = 0; i < 16; i++) at = bypass ? __ldcg(p + at) : __ldca(p + at);
  long long start = clock64();
  for (int i = 0; i < steps; i++) at = bypass ? __ldcg(p + at) : __ldca(p + at);
  out[0] = clock64() - start;
  *keep = at;
}

__global__ void chase_shared(int steps, long long *out, unsigned *keep) {
  __shared__ unsigned s[256];
  for (int i = 0; i < 256; i++) s[i] = (i + 33) % 256;
  unsigned at = 0;
  long long start = clock64();
  for (int i = 0; i < steps; i++) at = s[at];
  out[0] = clock64() - start;
  *keep = at;
}

__global__ void atomic_chain(unsigned *p, int steps, long long *out) {
  unsigned v = 0;
  long long start = clock64();
  for (int i = 0; i < steps; i++) v = atomicAdd(p + (v & 0), 1u);
  out[0] = clock64() - start + (v == 0xffffffff);
}

__global__ void shared_atomic_chain(int steps, long long *out) {
  __shared__ unsigned s[32];
  s[threadIdx.x] = 0;
  unsigned v = 0;
  long long start = clock64();
  for (int i = 0; i < steps; i++) v = atomicAdd(s + (v & 0), 1u);
  out[0] = clock64() - start + (v == 0xffffffff);
}

int main() {
  long long *d_out, cycles;
  unsigned *d_keep, *p;
  const size_t most = size_t(1) << 30;
  CK(cudaMalloc(&d_out, 1 << 16));
  CK(cudaMalloc(&d_keep, 4));
  CK(cudaMalloc(&p, most));
  std::vector<unsigned> next(most / 4);
  for (size_t bytes : {size_t(8) << 10, size_t(64) << 10, size_t(128) << 10, size_t(192) << 10, size_t(1) << 20, size_t(8) << 20,
                       size_t(20) << 20, size_t(32) << 20, size_t(48) << 20, size_t(64) << 20, size_t(256) << 20, most}) {
    const size_t stride = 128 / 4, slots = bytes / 128;
    size_t step = slots * 5 / 13 | 1;  // odd: visits every slot of a power of two, far apart
    for (size_t i = 0, at = 0; i < slots; i++) {
      size_t to = (at + step) % slots;
      next[at * stride] = unsigned(to * stride);
      at = to;
    }
    CK(cudaMemcpy(p, next.data(), bytes, cudaMemcpyHostToDevice));
    int steps = slots < 4096 ? int(slots) * 2 : 8192;
    for (int bypass : {0, 1}) {
      if (bytes <= size_t(20) << 20) chase<<<1, 1>>>(p, 0, int(slots), bypass, d_out, d_keep);
      chase<<<1, 1>>>(p, 0, steps, bypass, d_out, d_keep);
      CK(cudaMemcpy(&cycles, d_out, 8, cudaMemcpyDeviceToHost));
      report("latency", bypass ? "chase_l2" : "chase_l1", double(bytes), double(cycles) / steps);
    }
  }
  chase_shared<<<1, 1>>>(4096, d_out, d_keep);
  CK(cudaMemcpy(&cycles, d_out, 8, cudaMemcpyDeviceToHost));
  report("latency", "shared", 0, cycles / 4096.0);
  atomic_chain<<<1, 1>>>(d_keep, 1024, d_out);
  CK(cudaMemcpy(&cycles, d_out, 8, cudaMemcpyDeviceToHost));
  report("latency", "atomic_global", 0, cycles / 1024.0);
  shared_atomic_chain<<<1, 32>>>(1024, d_out);
  CK(cudaMemcpy(&cycles, d_out, 8, cudaMemcpyDeviceToHost));
  report("latency", "atomic_shared_32lanes", 0, cycles / 1024.0);
  return 0;
}
