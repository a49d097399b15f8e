// Straight code of growing size, run once: what an SM waits for instructions, alone and beside all others. Cycles come
// from the profiler.
#include "common.cuh"

template <int Count>
__global__ void straight(float *keep, float seed) {
  float a = seed, b = seed + 1;
#pragma unroll
  for (int i = 0; i < Count / 2; i++) {
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(a) : "f"(seed));
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(b) : "f"(seed));
  }
  sink(a + b, keep);
}

int main() {
  float *keep;
  CK(cudaMalloc(&keep, 256));
  for (int grid : {1, 132, 528}) {
    straight<64><<<grid, 128>>>(keep, 1.0f);
    straight<256><<<grid, 128>>>(keep, 1.0f);
    straight<1024><<<grid, 128>>>(keep, 1.0f);
    straight<2048><<<grid, 128>>>(keep, 1.0f);
    straight<4096><<<grid, 128>>>(keep, 1.0f);
  }
  CK(cudaDeviceSynchronize());
  return 0;
}
