// Random walks with cuRAND's device API (XORWOW): header-only generators with a large per-thread state.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>
#include <curand_kernel.h>

__global__ void walk(int *out, int steps) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState state;
  curand_init(1234, i, 0, &state);
  int x = 0;
  for (int s = 0; s < steps; s++) x += curand(&state) & 1 ? 1 : -1;
  out[i] = x;
}

int main() {
  const int n = 512, steps = 100;
  std::vector<int> got(n);
  int *d;
  cudaMalloc(&d, n * sizeof(int));
  walk<<<n / 128, 128>>>(d, steps);
  cudaMemcpy(got.data(), d, n * sizeof(int), cudaMemcpyDeviceToHost);
  long long sum = 0, squares = 0;
  int odd = 0;
  for (int x : got) sum += x, squares += (long long)x * x, odd += x & 1;
  double variance = double(squares) / n;
  bool good = odd == 0 && variance > 75 && variance < 125 && sum > -1000 && sum < 1000;
  printf("first %d %d %d %d sum=%lld squares=%lld %s\n", got[0], got[1], got[2], got[3], sum, squares, good ? "PASS" : "FAIL");
  return !good;
}
