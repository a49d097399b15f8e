// Launch cost: an empty kernel against CTAs, threads, registers and shared memory. Durations come from the profiler.
#include "common.cuh"

__global__ void empty() {}

__global__ void __launch_bounds__(256) many_registers(float *p) {
  float v[96];
#pragma unroll
  for (int i = 0; i < 96; i++) v[i] = float(threadIdx.x * i);
#pragma unroll
  for (int k = 0; k < 2; k++)
#pragma unroll
    for (int i = 0; i < 96; i++) v[i] = v[i] * v[(i + 1) % 96] + 1.0f;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 96; i++) sum += v[i];
  sink(sum, p);
}

__global__ void one_store(int *p) {
  if (threadIdx.x == 0) p[blockIdx.x] = 1;
}

int main() {
  int *p;
  CK(cudaMalloc(&p, 1 << 20));
  const int grids[] = {1, 2, 4, 8, 16, 32, 66, 132, 133, 264, 528, 1056, 2112, 4224, 8448, 16896, 33792};
  for (int threads : {32, 128, 256, 1024})
    for (int grid : grids) empty<<<grid, threads>>>();
  for (int grid : {132, 1056, 8448}) many_registers<<<grid, 256>>>((float *)p);
  for (int grid : {1, 132, 1056, 8448}) one_store<<<grid, 128>>>(p);
  CK(cudaDeviceSynchronize());
  return 0;
}
