// One k-means iteration: distances, shared-memory accumulators with float and integer atomics.
#include <cmath>
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kClusters = 5;

__global__ void assign(const float2 *p, int n, const float2 *centre, int *label, float *sx, float *sy, int *count) {
  __shared__ float x[kClusters], y[kClusters];
  __shared__ int c[kClusters];
  if (threadIdx.x < kClusters) x[threadIdx.x] = y[threadIdx.x] = 0, c[threadIdx.x] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    int best = 0;
    float least = INFINITY;
    for (int k = 0; k < kClusters; k++) {
      float dx = p[i].x - centre[k].x, dy = p[i].y - centre[k].y, d = dx * dx + dy * dy;
      if (d < least) least = d, best = k;
    }
    label[i] = best;
    atomicAdd(&x[best], p[i].x);
    atomicAdd(&y[best], p[i].y);
    atomicAdd(&c[best], 1);
  }
  __syncthreads();
  if (threadIdx.x < kClusters) {
    atomicAdd(&sx[threadIdx.x], x[threadIdx.x]);
    atomicAdd(&sy[threadIdx.x], y[threadIdx.x]);
    atomicAdd(&count[threadIdx.x], c[threadIdx.x]);
  }
}

int main() {
  const int n = 5000;
  std::vector<float2> p(n), centre(kClusters);
  for (int i = 0; i < n; i++) p[i] = make_float2(float((i * 37) % 101), float((i * 53) % 97));  // integers: exact sums
  for (int k = 0; k < kClusters; k++) centre[k] = make_float2(10.0f + 20 * k, 90.0f - 18 * k);
  float2 *d_p, *d_c;
  float *d_sx, *d_sy;
  int *d_label, *d_count;
  cudaMalloc(&d_p, n * sizeof(float2));
  cudaMalloc(&d_c, kClusters * sizeof(float2));
  cudaMalloc(&d_sx, kClusters * sizeof(float));
  cudaMalloc(&d_sy, kClusters * sizeof(float));
  cudaMalloc(&d_label, n * sizeof(int));
  cudaMalloc(&d_count, kClusters * sizeof(int));
  cudaMemcpy(d_p, p.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
  cudaMemcpy(d_c, centre.data(), kClusters * sizeof(float2), cudaMemcpyHostToDevice);
  cudaMemset(d_sx, 0, kClusters * sizeof(float));
  cudaMemset(d_sy, 0, kClusters * sizeof(float));
  cudaMemset(d_count, 0, kClusters * sizeof(int));
  assign<<<(n + 255) / 256, 256>>>(d_p, n, d_c, d_label, d_sx, d_sy, d_count);
  std::vector<int> label(n), count(kClusters), want(kClusters);
  std::vector<float> sx(kClusters);
  std::vector<double> wx(kClusters);
  cudaMemcpy(label.data(), d_label, n * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(count.data(), d_count, kClusters * sizeof(int), cudaMemcpyDeviceToHost);
  cudaMemcpy(sx.data(), d_sx, kClusters * sizeof(float), cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < n; i++) want[label[i]]++, wx[label[i]] += p[i].x;
  for (int k = 0; k < kClusters; k++) bad += want[k] != count[k] || wx[k] != sx[k];
  printf("counts %d %d %d %d %d bad=%d %s\n", count[0], count[1], count[2], count[3], count[4], bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
