// Longest common subsequence by anti-diagonals: one block, a barrier per diagonal, three rolling rows.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

__global__ void lcs(const unsigned char *a, const unsigned char *b, int n, int *out) {
  extern __shared__ int rows[];  // three diagonals of n + 1
  int *older = rows, *old = rows + n + 1, *now = rows + 2 * (n + 1);
  for (int i = threadIdx.x; i < 3 * (n + 1); i += blockDim.x) rows[i] = 0;
  __syncthreads();
  for (int d = 2; d <= 2 * n; d++) {
    for (int i = max(1, d - n) + threadIdx.x; i <= min(n, d - 1); i += blockDim.x) {
      int j = d - i;
      now[i] = a[i - 1] == b[j - 1] ? older[i - 1] + 1 : max(old[i - 1], old[i]);
    }
    __syncthreads();
    int *t = older;
    older = old, old = now, now = t;
    for (int i = threadIdx.x; i <= n; i += blockDim.x)
      if (i < max(1, d + 1 - n) || i > min(n, d)) now[i] = 0;
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = old[n];
}

int main() {
  const int n = 300;
  std::vector<unsigned char> a(n), b(n);
  unsigned s = 7;
  for (int i = 0; i < n; i++) a[i] = (s = s * 1103515245 + 12345) >> 28, b[i] = (s = s * 1103515245 + 12345) >> 28;
  unsigned char *d_a, *d_b;
  int *d_out, got = 0;
  cudaMalloc(&d_a, n);
  cudaMalloc(&d_b, n);
  cudaMalloc(&d_out, sizeof(int));
  cudaMemcpy(d_a, a.data(), n, cudaMemcpyHostToDevice);
  cudaMemcpy(d_b, b.data(), n, cudaMemcpyHostToDevice);
  lcs<<<1, 128, 3 * (n + 1) * sizeof(int)>>>(d_a, d_b, n, d_out);
  cudaMemcpy(&got, d_out, sizeof(int), cudaMemcpyDeviceToHost);
  std::vector<std::vector<int>> t(n + 1, std::vector<int>(n + 1));
  for (int i = 1; i <= n; i++)
    for (int j = 1; j <= n; j++)
      t[i][j] = a[i - 1] == b[j - 1] ? t[i - 1][j - 1] + 1 : std::max(t[i - 1][j], t[i][j - 1]);
  printf("lcs=%d want=%d %s\n", got, t[n][n], got == t[n][n] ? "PASS" : "FAIL");
  return got != t[n][n];
}
