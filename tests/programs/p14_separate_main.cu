// Separate compilation (-dc), main half: calls a device function and uses a device variable of the other file.
#include <cstdio>

#include <cuda_runtime.h>

extern __device__ int counter;
extern __constant__ int offset;
__device__ int collatz(int n);

__global__ void run(int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    out[i] = collatz(i + 1) + offset;
    atomicAdd(&counter, 1);
  }
}

int read_counter();

int main() {
  const int n = 500;
  int *d, got[n], bad = 0;
  cudaMalloc(&d, sizeof got);
  run<<<4, 128>>>(d, n);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) {
    int steps = 0;
    for (long long v = i + 1; v != 1; v = v % 2 ? 3 * v + 1 : v / 2) steps++;
    bad += got[i] != steps + 1000;
  }
  int counted = read_counter();
  printf("collatz(27)=%d counted=%d bad=%d %s\n", got[26] - 1000, counted, bad, bad || counted != n ? "FAIL" : "PASS");
  return bad || counted != n;
}
