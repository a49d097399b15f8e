// A kernel that does nothing. Teaches what every launch pays before its first block starts, and after its last.
#include <cstdio>

#include <cuda_runtime.h>

__global__ void nothing() {}

int main() {
  nothing<<<1, 32>>>();
  const cudaError_t error = cudaDeviceSynchronize();
  printf("%s %s\n", cudaGetErrorName(error), error == cudaSuccess ? "PASS" : "FAIL");
  return error != cudaSuccess;
}
