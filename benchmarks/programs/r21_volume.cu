// Three dimensions: planes swept with a shared tile and registers, high order, 27 points, a wave, a turned volume.
#include "expect.cuh"

// Seven points: the plane in shared memory, the planes before and after in registers.
__global__ void seven_swept(const float *in, float *out, int s, int deep) {
  __shared__ float tile[10][34];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y, z0 = blockIdx.z * deep;
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1, plane = s * s, at = z0 * plane + y * s + x;
  float behind = z0 ? in[at - plane] : 0, here = in[at];
  for (int z = z0; z < z0 + deep; z++, at += plane) {
    float ahead = z + 1 < s ? in[at + plane] : 0;
    tile[ty][tx] = here;
    if (threadIdx.x == 0) tile[ty][0] = x ? in[at - 1] : 0;
    if (threadIdx.x == 31) tile[ty][33] = x + 1 < s ? in[at + 1] : 0;
    if (threadIdx.y == 0) tile[0][tx] = y ? in[at - s] : 0;
    if (threadIdx.y == 7) tile[9][tx] = y + 1 < s ? in[at + s] : 0;
    __syncthreads();
    out[at] = behind + ahead + tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx] - 6 * here;
    __syncthreads();
    behind = here, here = ahead;
  }
}

// Nine points along z, all in a queue of registers.
__global__ void nine_along_z(const float *in, float *out, int s) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, plane = s * s, at = y * s + x;
  const float c[5] = {-2.5f, 1.5f, -0.25f, 0.125f, -0.0625f};
  float q[9];
#pragma unroll
  for (int k = 0; k < 8; k++) q[k] = in[at + k * plane];
  for (int z = 4; z < s - 4; z++) {
    q[8] = in[at + (z + 4) * plane];
    float sum = c[0] * q[4];
#pragma unroll
    for (int k = 1; k <= 4; k++) sum += c[k] * (q[4 - k] + q[4 + k]);
    out[at + z * plane] = sum;
#pragma unroll
    for (int k = 0; k < 8; k++) q[k] = q[k + 1];
  }
}

__global__ void box27(const float *in, float *out, int s) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 4 + threadIdx.y, z = blockIdx.z * 2 + threadIdx.z;
  if (x == 0 || y == 0 || z == 0 || x == s - 1 || y == s - 1 || z == s - 1) return;
  float sum = 0;
#pragma unroll
  for (int k = -1; k <= 1; k++)
#pragma unroll
    for (int j = -1; j <= 1; j++)
#pragma unroll
      for (int i = -1; i <= 1; i++) sum += in[((z + k) * s + y + j) * s + x + i];
  out[(z * s + y) * s + x] = sum;
}

// A wave's next moment over its last, four cells a thread.
__global__ void wave(const float4 *now, float4 *last, const float4 *speed, int s) {
  int w = s / 4, x = threadIdx.x % w, y = blockIdx.x * (blockDim.x / w) + threadIdx.x / w, z = blockIdx.y;
  if (y == 0 || z == 0 || y == s - 1 || z == s - 1) return;
  int at = (z * s + y) * w + x;
  float4 c = now[at], l = last[at], v = speed[at];
  float4 n = now[at - w], o = now[at + w], b = now[at - w * s], a = now[at + w * s];
  float left = x ? ((const float *)now)[at * 4 - 1] : 0, right = x + 1 < w ? ((const float *)now)[at * 4 + 4] : 0;
  l.x = 2 * c.x - l.x + v.x * (left + c.y + n.x + o.x + b.x + a.x - 6 * c.x);
  l.y = 2 * c.y - l.y + v.y * (c.x + c.z + n.y + o.y + b.y + a.y - 6 * c.y);
  l.z = 2 * c.z - l.z + v.z * (c.y + c.w + n.z + o.z + b.z + a.z - 6 * c.z);
  l.w = 2 * c.w - l.w + v.w * (c.z + right + n.w + o.w + b.w + a.w - 6 * c.w);
  last[at] = l;
}

// x, y, z becomes z, x, y, through a tile.
__global__ void turn(const float *in, float *out, int s) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16, z = blockIdx.y * 16, y = blockIdx.z;
  tile[threadIdx.y][threadIdx.x] = in[((z + threadIdx.y) * s + y) * s + x + threadIdx.x];
  __syncthreads();
  out[(y * s + x + threadIdx.y) * s + z + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int s = 96, n = s * s * s, plane = s * s;
  std::vector<float> h = random_host<float>(n), old = random_host<float>(n, 5), want(n, 0.0f);
  float *in = upload(h), *last = upload(old), *out = zeros<float>(n);
  auto cell = [&](int x, int y, int z) {
    return x < 0 || y < 0 || z < 0 || x >= s || y >= s || z >= s ? 0.0f : h[z * plane + y * s + x];
  };
  auto each = [&](auto what) {
    for (int z = 0; z < s; z++)
      for (int y = 0; y < s; y++)
        for (int x = 0; x < s; x++) what(x, y, z, z * plane + y * s + x);
  };
  auto faces = [&](int x, int y, int z) {
    return cell(x - 1, y, z) + cell(x + 1, y, z) + cell(x, y - 1, z) + cell(x, y + 1, z) + cell(x, y, z - 1) + cell(x, y, z + 1);
  };
  seven_swept<<<dim3(s / 32, s / 8, 4), dim3(32, 8)>>>(in, out, s, s / 4);
  each([&](int x, int y, int z, int i) { want[i] = faces(x, y, z) - 6 * h[i]; });
  expect("seven_swept", out, want, 1e-5);
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
  nine_along_z<<<dim3(s / 32, s / 4), dim3(32, 4)>>>(in, out, s);
  const float c[5] = {-2.5f, 1.5f, -0.25f, 0.125f, -0.0625f};
  each([&](int, int, int z, int i) {
    want[i] = z < 4 || z >= s - 4 ? 0 : c[0] * h[i];
    for (int k = 1; k <= 4 && z >= 4 && z < s - 4; k++) want[i] += c[k] * (h[i - k * plane] + h[i + k * plane]);
  });
  expect("nine_along_z", out, want, 1e-5);
  CHECK(cudaMemset(out, 0, n * sizeof(float)));
  box27<<<dim3(s / 32, s / 4, s / 2), dim3(32, 4, 2)>>>(in, out, s);
  each([&](int x, int y, int z, int i) {
    want[i] = 0;
    if (x == 0 || y == 0 || z == 0 || x == s - 1 || y == s - 1 || z == s - 1) return;
    for (int k = 0; k < 27; k++) want[i] += h[i + (k / 9 - 1) * plane + (k / 3 % 3 - 1) * s + k % 3 - 1];
  });
  expect("box27", out, want, 1e-5);
  wave<<<dim3(s / 8, s), s * 2>>>((float4 *)in, (float4 *)last, (float4 *)in, s);
  each([&](int x, int y, int z, int i) {
    bool edge = y == 0 || z == 0 || y == s - 1 || z == s - 1;
    want[i] = edge ? old[i] : 2 * h[i] - old[i] + h[i] * (faces(x, y, z) - 6 * h[i]);
  });
  expect("wave", last, want, 1e-5);
  turn<<<dim3(s / 16, s / 16, s), dim3(16, 16)>>>(in, out, s);
  each([&](int x, int y, int z, int i) { want[(y * s + x) * s + z] = h[i]; });
  expect("turn", out, want);
}
