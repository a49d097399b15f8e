// Vector add of 2^LG elements, LG being the argument (24 when there is none): the plain launch that the benchmarks time.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void vadd(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
  const int n = 1 << (argc > 1 ? atoi(argv[1]) : 24);
  float *a, *b, *c;
  cudaMalloc(&a, n * sizeof(float));
  cudaMalloc(&b, n * sizeof(float));
  cudaMalloc(&c, n * sizeof(float));
  for (int k = 0; k < 3; k++) vadd<<<n / 256, 256>>>(a, b, c, n);
  return cudaDeviceSynchronize() != cudaSuccess;
}
