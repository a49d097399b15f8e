// LU factorisation without pivoting, one launch per column pair: many small dependent launches, double precision.
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void scale(double *a, int n, int k) {
  int i = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i * n + k] /= a[k * n + k];
}

__global__ void update(double *a, int n, int k) {
  int j = k + 1 + blockIdx.x * blockDim.x + threadIdx.x, i = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (i < n && j < n) a[i * n + j] -= a[i * n + k] * a[k * n + j];
}

int main() {
  const int n = 48;
  std::vector<double> a(n * n), lu(n * n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) a[i * n + j] = i == j ? 2.0 * n : double((i * 13 + j * 7) % 11) / 11;
  double *d;
  cudaMalloc(&d, n * n * sizeof(double));
  cudaMemcpy(d, a.data(), n * n * sizeof(double), cudaMemcpyHostToDevice);
  for (int k = 0; k < n - 1; k++) {
    int rest = n - k - 1;
    scale<<<(rest + 31) / 32, 32>>>(d, n, k);
    update<<<dim3((rest + 15) / 16, (rest + 15) / 16), dim3(16, 16)>>>(d, n, k);
  }
  cudaMemcpy(lu.data(), d, n * n * sizeof(double), cudaMemcpyDeviceToHost);
  double worst = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = 0;
      for (int k = 0; k <= (i < j ? i : j); k++) sum += (k == i ? 1.0 : lu[i * n + k]) * lu[k * n + j];
      worst = fmax(worst, fabs(sum - a[i * n + j]));
    }
  printf("u[0][0]=%.1f error %s %s\n", lu[0], worst < 1e-10 ? "small" : "large", worst < 1e-10 ? "PASS" : "FAIL");
  return worst >= 1e-10;
}
