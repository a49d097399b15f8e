// y = a * x + y with a grid-stride loop. Teaches how few blocks can cover any n, and what the loop costs.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void saxpy(int n, float a, const float *x, float *y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

int main() {
  const int n = 1000003;  // not a multiple of anything: the last iteration is ragged
  const float a = 2.5f;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; i++) x[i] = float(i % 97), y[i] = float(i % 31);

  float *dx, *dy;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dy, n * sizeof(float));
  cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  saxpy<<<128, 256>>>(n, a, dx, dy);
  std::vector<float> got(n);
  cudaMemcpy(got.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost);

  int bad = 0;
  for (int i = 0; i < n; i++) bad += got[i] != a * x[i] + y[i];
  printf("y[0]=%.1f y[n-1]=%.1f bad=%d %s\n", got[0], got[n - 1], bad, bad ? "FAIL" : "PASS");
  cudaFree(dx);
  cudaFree(dy);
  return bad != 0;
}
