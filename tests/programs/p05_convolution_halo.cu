// 2D 5x5 convolution with a halo in shared memory and weights in constant memory.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kRadius = 2, kTile = 16, kSide = kTile + 2 * kRadius;
__constant__ float weights[(2 * kRadius + 1) * (2 * kRadius + 1)];

__global__ void convolve(const float *in, float *out, int w, int h) {
  __shared__ float tile[kSide][kSide];
  int x0 = blockIdx.x * kTile - kRadius, y0 = blockIdx.y * kTile - kRadius;
  for (int i = threadIdx.y * kTile + threadIdx.x; i < kSide * kSide; i += kTile * kTile) {
    int x = min(max(x0 + i % kSide, 0), w - 1), y = min(max(y0 + i / kSide, 0), h - 1);
    tile[i / kSide][i % kSide] = in[y * w + x];
  }
  __syncthreads();
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0;
  for (int dy = 0; dy <= 2 * kRadius; dy++)
    for (int dx = 0; dx <= 2 * kRadius; dx++)
      sum += weights[dy * (2 * kRadius + 1) + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
  out[y * w + x] = sum;
}

int main() {
  const int w = 150, h = 90, side = 2 * kRadius + 1;
  std::vector<float> in(w * h), out(w * h);
  float k[side * side];
  for (int i = 0; i < side * side; i++) k[i] = float((i * 5) % 7 - 3);  // small integers: every order of sums is exact
  for (int i = 0; i < w * h; i++) in[i] = float((i * 29) % 53);
  float *d_in, *d_out;
  cudaMalloc(&d_in, w * h * sizeof(float));
  cudaMalloc(&d_out, w * h * sizeof(float));
  cudaMemcpyToSymbol(weights, k, sizeof k);
  cudaMemcpy(d_in, in.data(), w * h * sizeof(float), cudaMemcpyHostToDevice);
  convolve<<<dim3((w + kTile - 1) / kTile, (h + kTile - 1) / kTile), dim3(kTile, kTile)>>>(d_in, d_out, w, h);
  cudaMemcpy(out.data(), d_out, w * h * sizeof(float), cudaMemcpyDeviceToHost);
  int bad = 0;
  double total = 0;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      float want = 0;
      for (int dy = -kRadius; dy <= kRadius; dy++)
        for (int dx = -kRadius; dx <= kRadius; dx++) {
          int sx = x + dx < 0 ? 0 : x + dx >= w ? w - 1 : x + dx, sy = y + dy < 0 ? 0 : y + dy >= h ? h - 1 : y + dy;
          want += k[(dy + kRadius) * side + dx + kRadius] * in[sy * w + sx];
        }
      bad += out[y * w + x] != want;
      total += out[y * w + x];
    }
  printf("total=%.0f bad=%d %s\n", total, bad, bad ? "FAIL" : "PASS");
  return bad != 0;
}
