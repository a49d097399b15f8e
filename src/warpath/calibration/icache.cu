// Instruction fetch: straight-line code of growing size, first pass and repeated passes, one warp and eight.
#include "common.cuh"

template <int Words>
__global__ void straight(int passes, long long *out, float seed, float *keep) {
  float v = seed;
  long long previous = clock64();
#pragma unroll 1
  for (int k = 0; k < passes; k++) {
#pragma unroll
    for (int i = 0; i < Words; i++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(v) : "f"(seed));
    long long now = clock64();
    if (threadIdx.x == 0) out[k] = now - previous;
    previous = now;
  }
  sink(v, keep);
}

template <int Words>
void measure(long long *d) {
  long long host[4];
  for (int warps : {1, 8}) {
    straight<Words><<<1, 32 * warps>>>(4, d, 1.5f, (float *)(d + 8));
    CK(cudaMemcpy(host, d, sizeof host, cudaMemcpyDeviceToHost));
    char what[32];
    for (int k = 0; k < 4; k++) {
      snprintf(what, sizeof what, "pass%d_warps%d", k, warps);
      report("icache", what, Words * 16.0, double(host[k]) / Words);
    }
  }
}

int main() {
  long long *d;
  CK(cudaMalloc(&d, 256));
  measure<64>(d);
  measure<256>(d);
  measure<512>(d);
  measure<1024>(d);
  measure<1536>(d);
  measure<2048>(d);
  measure<3072>(d);
  measure<4096>(d);
  measure<6144>(d);
  measure<8192>(d);
  measure<12288>(d);
  return 0;
}
