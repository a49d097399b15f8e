// Device malloc and free, printf from a kernel, clock64, and a struct of mixed types passed by value.
#include <cstdio>

#include <cuda_runtime.h>

struct Mixed {
  char tag;
  double scale;
  short id;
  float3 shift;
};

__global__ void build(Mixed m, int *sum, long long *ticks) {
  long long start = clock64();
  int *list = (int *)malloc(16 * sizeof(int));
  if (list == nullptr) return;
  for (int i = 0; i < 16; i++) list[i] = int(threadIdx.x) + i;
  int total = 0;
  for (int i = 0; i < 16; i++) total += list[i];
  free(list);
  atomicAdd(sum, total);
  if (threadIdx.x == 3)
    printf("thread %d tag %c scale %.2f id %hd shift (%g, %g, %g) %s %llu %p\n", threadIdx.x, m.tag, m.scale, m.id, m.shift.x,
           m.shift.y, m.shift.z, "text", 1ull << 40, (void *)nullptr);
  if (threadIdx.x == 0) *ticks = clock64() - start;
}

int main() {
  int *d_sum, sum = 0;
  long long *d_ticks, ticks = 0;
  cudaMalloc(&d_sum, sizeof sum);
  cudaMalloc(&d_ticks, sizeof ticks);
  cudaMemset(d_sum, 0, sizeof sum);
  build<<<1, 64>>>(Mixed{'w', 2.5, -7, make_float3(1, 2, 0.5f)}, d_sum, d_ticks);
  cudaError_t error = cudaDeviceSynchronize();
  cudaMemcpy(&sum, d_sum, sizeof sum, cudaMemcpyDeviceToHost);
  cudaMemcpy(&ticks, d_ticks, sizeof ticks, cudaMemcpyDeviceToHost);
  int want = 0;
  for (int t = 0; t < 64; t++)
    for (int i = 0; i < 16; i++) want += t + i;
  printf("sync=%s sum=%d want=%d ticks %s %s\n", cudaGetErrorString(error), sum, want, ticks >= 0 ? "ok" : "bad",
         sum == want ? "PASS" : "FAIL");
  return sum != want;
}
