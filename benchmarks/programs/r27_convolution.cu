// Layers of a convolutional net: depthwise 3 x 3, pools, 3 x 3 over channels, patches to columns, upsampling, batch statistics.
#include "expect.cuh"

// One channel a block in z, 32 x 8 pixels, a tile with its border in shared memory.
__global__ void depthwise(const float *in, const float *weight, float *out, int w, int h) {
  __shared__ float tile[10][34];
  int c = blockIdx.z, x0 = blockIdx.x * 32, y0 = blockIdx.y * 8;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
    int x = x0 + i % 34 - 1, y = y0 + i / 34 - 1;
    tile[i / 34][i % 34] = x >= 0 && x < w && y >= 0 && y < h ? in[(c * h + y) * w + x] : 0;
  }
  float k[9], sum = 0;
  for (int i = 0; i < 9; i++) k[i] = weight[c * 9 + i];
  __syncthreads();
  for (int i = 0; i < 9; i++) sum += k[i] * tile[threadIdx.y + i / 3][threadIdx.x + i % 3];
  out[(c * h + y0 + threadIdx.y) * w + x0 + threadIdx.x] = fmaxf(sum, 0);
}

// Channels last: four channels of one pixel a thread, nine neighbours by 16 bytes.
__global__ void depthwise_last(const float4 *in, const float4 *weight, float4 *out, int w, int h, int c4) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, c = i % c4, x = i / c4 % w, y = i / c4 / w;
  float4 sum = make_float4(0, 0, 0, 0);
  for (int k = 0; k < 9; k++) {
    int nx = x + k % 3 - 1, ny = y + k / 3 - 1;
    if (nx < 0 || nx >= w || ny < 0 || ny >= h) continue;
    float4 v = in[(ny * w + nx) * c4 + c], f = weight[k * c4 + c];
    sum.x += v.x * f.x, sum.y += v.y * f.y, sum.z += v.z * f.z, sum.w += v.w * f.w;
  }
  out[i] = make_float4(fmaxf(sum.x, 0), fmaxf(sum.y, 0), fmaxf(sum.z, 0), fmaxf(sum.w, 0));
}

// The largest of each 2 x 2, and which it was.
__global__ void max_pool(const float2 *in, float *out, unsigned char *which, int w2, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float2 a = in[i / w2 * 2 * w2 + i % w2], b = in[(i / w2 * 2 + 1) * w2 + i % w2];
  float best = a.x;
  int at = 0;
  if (a.y > best) best = a.y, at = 1;
  if (b.x > best) best = b.x, at = 2;
  if (b.y > best) best = b.y, at = 3;
  out[i] = best, which[i] = at;
}

// 16 channels in, 16 out; each thread one pixel of 8 output channels, weights in shared memory.
__global__ void conv3x3(const float *in, const float *weight, float *out, int w, int h) {
  __shared__ float k[8][16][9];
  int o0 = blockIdx.z * 8, x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 8 * 144; i += 128) (&k[0][0][0])[i] = weight[o0 * 144 + i];
  __syncthreads();
  float sum[8] = {};
  for (int c = 0; c < 16; c++)
#pragma unroll
    for (int i = 0; i < 9; i++) {
      int nx = x + i % 3 - 1, ny = y + i / 3 - 1;
      float v = nx >= 0 && nx < w && ny >= 0 && ny < h ? in[(c * h + ny) * w + nx] : 0;
#pragma unroll
      for (int o = 0; o < 8; o++) sum[o] += v * k[o][c][i];
    }
  for (int o = 0; o < 8; o++) out[((o0 + o) * h + y) * w + x] = sum[o];
}

// Row c * 9 + k of the result is channel c moved by k.
__global__ void columns(const float *in, float *out, int w, int h) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y, x = i % w, y = i / w;
  for (int k = 0; k < 9; k++) {
    int nx = x + k % 3 - 1, ny = y + k / 3 - 1;
    out[(c * 9 + k) * w * h + i] = nx >= 0 && nx < w && ny >= 0 && ny < h ? in[(c * h + ny) * w + nx] : 0;
  }
}

__global__ void upsample(const float *in, float2 *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y, c = blockIdx.z;
  float v = in[(c * h + y / 2) * w + x];
  out[(c * 2 * h + y) * w + x] = make_float2(v, v);
}

// A channel a block: mean and variance of a plane, then the plane again, normalized in place.
__global__ void batch_norm(float *x, float *mean, int plane) {
  __shared__ float sums[2][32];
  float *in = x + blockIdx.x * plane, sum = 0, square = 0;
  for (int i = threadIdx.x; i < plane; i += blockDim.x) sum += in[i], square += in[i] * in[i];
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d), square += __shfl_xor_sync(~0u, square, d);
  if (threadIdx.x % 32 == 0) sums[0][threadIdx.x / 32] = sum, sums[1][threadIdx.x / 32] = square;
  __syncthreads();
  sum = sums[0][threadIdx.x % 32], square = sums[1][threadIdx.x % 32];
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d), square += __shfl_xor_sync(~0u, square, d);
  sum /= plane, square = rsqrtf(square / plane - sum * sum + 1e-5f);
  for (int i = threadIdx.x; i < plane; i += blockDim.x) in[i] = (in[i] - sum) * square;
  if (threadIdx.x == 0) mean[blockIdx.x] = sum;
}

int main() {
  const int w = 128, h = 128, channels = 32, plane = w * h, n = plane * channels;
  std::vector<float> host = random_host<float>(n), weights = random_host<float>(16 * 16 * 9, 5), want(n), four(n / 4);
  float *in = upload(host), *weight = upload(weights), *out = zeros<float>(16 * 9 * plane);
  auto cell = [&](int c, int x, int y) { return x < 0 || y < 0 || x >= w || y >= h ? 0.0f : host[c * plane + y * w + x]; };
  depthwise<<<dim3(w / 32, h / 8, channels), dim3(32, 8)>>>(in, weight, out, w, h);
  for (int i = 0; i < n; i++) {
    int c = i / plane, x = i % w, y = i % plane / w;
    for (int k = 0; k < 9; k++) want[i] += weights[c * 9 + k] * cell(c, x + k % 3 - 1, y + k / 3 - 1);
  }
  expect("depthwise", out, want, 1e-5);
  depthwise_last<<<n / 4 / 256, 256>>>((float4 *)in, (float4 *)weight, (float4 *)out, w, h, channels / 4);
  want.assign(n, 0);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 9; k++) {
      int c = i % channels, x = i / channels % w + k % 3 - 1, y = i / channels / w + k / 3 - 1;
      if (x >= 0 && y >= 0 && x < w && y < h) want[i] += weights[k * channels + c] * host[(y * w + x) * channels + c];
    }
  expect("depthwise_last", out, want, 1e-5);
  max_pool<<<n / 4 / 256, 256>>>((float2 *)in, out, (unsigned char *)(out + n), w / 2, n / 4);
  for (int i = 0; i < n / 4; i++) {
    const float *p = &host[i / (w / 2) * 2 * w + i % (w / 2) * 2];
    four[i] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[w], p[w + 1]));
  }
  expect("max_pool", out, four);
  conv3x3<<<dim3(w / 32, h / 4, 2), dim3(32, 4)>>>(in, weight, out, w, h);
  want.assign(16 * plane, 0);
  for (int i = 0; i < 16 * plane; i++)
    for (int k = 0; k < 144; k++)
      want[i] += weights[i / plane * 144 + k] * cell(k / 9, i % w + k % 3 - 1, i % plane / w + k % 9 / 3 - 1);
  expect("conv3x3", out, want, 1e-5);
  columns<<<dim3(plane / 256, 16), 256>>>(in, out, w, h);
  want.assign(16 * 9 * plane, 0);
  for (int i = 0; i < 16 * 9 * plane; i++) {
    int k = i / plane % 9;
    want[i] = cell(i / plane / 9, i % w + k % 3 - 1, i % plane / w + k / 3 - 1);
  }
  expect("columns", out, want);
  upsample<<<dim3(1, 2 * h, 8), 128>>>(in, (float2 *)out, w, h);
  want.assign(8 * 4 * plane, 0);
  for (int i = 0; i < 32 * plane; i++) want[i] = host[i / (4 * plane) * plane + i / (4 * w) % h * w + i % (2 * w) / 2];
  expect("upsample", out, want);
  batch_norm<<<channels, 1024>>>(in, out, plane);
  want.assign(channels, 0);
  for (int i = 0; i < n; i++) want[i / plane] += host[i] / plane;
  expect("batch_norm", out, want, 1e-4);
}
