// Pieces of training: recurrent gates, embeddings and their gradients, normalization backwards, loss, Adam, rotary halves.
#include "expect.cuh"
#include <cuda_fp16.h>

__host__ __device__ inline float sigmoid(float v) { return 1.0f / (1.0f + expf(-v)); }

// Gates i, f, g, o of each cell, one after another in a row.
__global__ void lstm(const float *gates, float *cell, float *hidden, int width) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  const float *g = gates + size_t(row) * 4 * width + c;
  float v = sigmoid(g[width]) * cell[row * width + c] + sigmoid(g[0]) * tanhf(g[2 * width]);
  cell[row * width + c] = v;
  hidden[row * width + c] = sigmoid(g[3 * width]) * tanhf(v);
}

__global__ void embed(const float4 *table, const float4 *place, const int *token, float4 *out, int width4, int length) {
  int t = blockIdx.x;
  const float4 *from = table + size_t(token[t]) * width4, *at = place + size_t(t % length) * width4;
  for (int c = threadIdx.x; c < width4; c += blockDim.x) {
    float4 a = from[c], b = at[c];
    out[size_t(t) * width4 + c] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
  }
}

__global__ void embed_gradient(const float *grad, const int *token, float *table, int width) {
  int t = blockIdx.x;
  for (int c = threadIdx.x; c < width; c += blockDim.x)
    atomicAdd(&table[size_t(token[t]) * width + c], grad[size_t(t) * width + c]);
}

// A warp a row of 256, 8 rows each: the gradient of x, and partial sums of those of scale and shift by block.
__global__ void norm_backward(const float *x, const float *dy, const float *scale, float *dx, float *part) {
  __shared__ float sums[2][256];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float ds[8] = {}, db[8] = {};
  sums[0][threadIdx.x] = sums[1][threadIdx.x] = 0;
  __syncthreads();
  for (int r = 0; r < 8; r++) {
    size_t row = size_t(blockIdx.x * 8 + warp) * 8 + r;
    float v[8], d[8], mean = 0, square = 0, a = 0, b = 0;
    for (int k = 0; k < 8; k++) v[k] = x[row * 256 + k * 32 + lane], d[k] = dy[row * 256 + k * 32 + lane], mean += v[k];
    for (int s = 16; s; s >>= 1) mean += __shfl_xor_sync(~0u, mean, s);
    mean /= 256;
    for (int k = 0; k < 8; k++) v[k] -= mean, square += v[k] * v[k];
    for (int s = 16; s; s >>= 1) square += __shfl_xor_sync(~0u, square, s);
    float inverse = rsqrtf(square / 256 + 1e-5f);
    for (int k = 0; k < 8; k++) {
      v[k] *= inverse, ds[k] += d[k] * v[k], db[k] += d[k], d[k] *= scale[k * 32 + lane];
      a += d[k], b += d[k] * v[k];
    }
    for (int s = 16; s; s >>= 1) a += __shfl_xor_sync(~0u, a, s), b += __shfl_xor_sync(~0u, b, s);
    for (int k = 0; k < 8; k++) dx[row * 256 + k * 32 + lane] = inverse * (d[k] - (a + v[k] * b) / 256);
  }
  for (int k = 0; k < 8; k++) atomicAdd(&sums[0][k * 32 + lane], ds[k]), atomicAdd(&sums[1][k * 32 + lane], db[k]);
  __syncthreads();
  part[blockIdx.x * 512 + threadIdx.x] = sums[0][threadIdx.x];
  part[blockIdx.x * 512 + 256 + threadIdx.x] = sums[1][threadIdx.x];
}

// A block a row of logits, read twice: the loss, and the gradient over the logits.
__global__ void cross_entropy(float *logits, const int *target, float *loss, int width) {
  __shared__ float tops[8], sums[8];
  float *row = logits + size_t(blockIdx.x) * width, top = -1e30f, sum = 0;
  for (int c = threadIdx.x; c < width; c += 256) top = fmaxf(top, row[c]);
  for (int d = 16; d; d >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, d));
  if (threadIdx.x % 32 == 0) tops[threadIdx.x / 32] = top;
  __syncthreads();
  for (int k = 0; k < 8; k++) top = fmaxf(top, tops[k]);
  for (int c = threadIdx.x; c < width; c += 256) sum += __expf(row[c] - top);
  for (int d = 16; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int k = 0; k < 8; k++) sum += sums[k];
  int right = target[blockIdx.x];
  if (threadIdx.x == 0) loss[blockIdx.x] = __logf(sum) + top - row[right];
  __syncthreads();
  for (int c = threadIdx.x; c < width; c += 256) row[c] = __expf(row[c] - top) / sum - (c == right);
}

// Weights in half and in full precision, two moments: five arrays in, four out.
__global__ void adam(const __half *grad, float *w, float *m, float *v, __half *copy, int n, float rate) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float g = __half2float(grad[i]), a = m[i] = 0.9f * m[i] + 0.1f * g, b = v[i] = 0.999f * v[i] + 0.001f * g * g;
  float next = w[i] - rate * a / (sqrtf(b) + 1e-8f);
  w[i] = next, copy[i] = __float2half(next);
}

// Pairs of halves turned by an angle of their place and column.
__global__ void rotary(__half2 *x, int width2) {
  int c = threadIdx.x, t = blockIdx.x * blockDim.y + threadIdx.y;
  float2 v = __half22float2(x[t * width2 + c]);
  float sine, cosine;
  sincosf(t * exp2f(-13.287712f * c / width2), &sine, &cosine);
  x[t * width2 + c] = __floats2half2_rn(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine);
}

int main() {
  const int width = 256, rows = 1024, words = 4096, n = rows * width;
  std::vector<float> h = random_host<float>(4 * n), a(n), b(n), want(n), table(words * width);
  std::vector<int> tokens = random_host<int>(rows, words);
  for (auto &v : h) v = v / 8 - 1;
  float *x = upload(h), *cell = upload(h), *out = zeros<float>(4 * n), *loss = zeros<float>(rows);
  float *grad = zeros<float>(words * width);
  int *token = upload(tokens);
  lstm<<<dim3(width / 128, rows), 128>>>(x, cell, out, width);
  for (int i = 0; i < n; i++) {
    const float *g = &h[i / width * 4 * width + i % width];
    a[i] = sigmoid(g[width]) * h[i] + sigmoid(g[0]) * tanhf(g[2 * width]), b[i] = sigmoid(g[3 * width]) * tanhf(a[i]);
  }
  expect("lstm cell", cell, a, 1e-5), expect("lstm hidden", out, b, 1e-5);
  embed<<<rows, 64>>>((float4 *)x, (float4 *)x, token, (float4 *)out, width / 4, 512);
  for (int i = 0; i < n; i++) want[i] = h[tokens[i / width] * width + i % width] + h[i / width % 512 * width + i % width];
  expect("embed", out, want, 1e-6);
  embed_gradient<<<rows, 128>>>(x, token, grad, width);
  for (int i = 0; i < n; i++) table[tokens[i / width] * width + i % width] += h[i];
  expect("embed_gradient", grad, table, 1e-4);
  norm_backward<<<4 * rows / 64, 256>>>(x, x, x, out, grad);
  std::vector<float> part = download(grad, 512 * 64), shift(256), got(256);
  for (int i = 0; i < 4 * n; i++) shift[i % 256] += h[i];
  for (size_t i = 0; i < part.size(); i++)
    if (i % 512 >= 256) got[i % 256] += part[i];
  expect("norm_backward", upload(got), shift, 1e-3);
  std::vector<float> back = download(out, 4 * n), row(4 * rows);  // a row's gradients sum to nothing
  for (int i = 0; i < 4 * n; i++) row[i / 256] += back[i];
  expect("norm_backward rows", upload(row), std::vector<float>(4 * rows), 1e-3);
  std::vector<int> targets = random_host<int>(rows / 2, 2048);
  cross_entropy<<<rows / 2, 256>>>(x, upload(targets), loss, 2048);
  want.assign(rows / 2, 0);
  for (int r = 0; r < rows / 2; r++) {
    double sum = 0;
    for (int c = 0; c < 2048; c++) sum += std::exp(h[r * 2048 + c]);
    want[r] = float(std::log(sum)) - h[r * 2048 + targets[r]];
  }
  expect("cross_entropy", loss, want, 1e-4);
  std::vector<float> w(h.begin(), h.begin() + n);
  std::vector<__half> half(n);
  for (int i = 0; i < n; i++) half[i] = __float2half(h[i]);
  float *weight = upload(w), *first = zeros<float>(n), *second = zeros<float>(n);
  __half *g = upload(half), *copy = zeros<__half>(n);
  adam<<<n / 256, 256>>>(g, weight, first, second, copy, n, 0.01f);
  for (int i = 0; i < n; i++) w[i] -= h[i] ? 0.01f * 0.1f * h[i] / (sqrtf(0.001f) * fabsf(h[i]) + 1e-8f) : 0;
  expect("adam", weight, w, 1e-5);
  rotary<<<rows / 2, dim3(width / 2, 2)>>>((__half2 *)g, width / 2);
  want.resize(n);
  for (int i = 0; i < n; i += 2) {
    double angle = i / width * std::pow(1e-4, i % width / double(width)), sine = std::sin(angle), cosine = std::cos(angle);
    want[i] = h[i] * cosine - h[i + 1] * sine, want[i + 1] = h[i] * sine + h[i + 1] * cosine;
  }
  std::vector<__half> turned = download(g, n);
  for (int i = 0; i < n; i++) a[i] = __half2float(turned[i]);
  expect("rotary", upload(a), want, 2e-3);
}
