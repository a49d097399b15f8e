// Separate compilation (-dc), other half.
#include <cuda_runtime.h>

__device__ int counter = 0;
__constant__ int offset = 1000;

__device__ int collatz(int n) {
  int steps = 0;
  for (long long v = n; v != 1; v = v % 2 ? 3 * v + 1 : v / 2) steps++;
  return steps;
}

int read_counter() {
  int value = -1;
  cudaMemcpyFromSymbol(&value, counter, sizeof value);
  return value;
}
