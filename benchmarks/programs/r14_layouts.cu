// Structures of arrays and arrays of structures, transposes with every kind of bank trouble, columns.
#include "common.cuh"

struct Particle { float x, y, z, w, vx, vy, vz, m; };

__global__ void one_field(const Particle *p, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = p[i].x * 2.0f;
}

__global__ void all_fields(Particle *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Particle q = p[i];
  q.x += q.vx, q.y += q.vy, q.z += q.vz;
  p[i] = q;
}

__global__ void columns_in(const float *in, float *out, int w) {
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  out[y * w + x] = in[x * w + y];
}

__global__ void tile_unpadded(const float *in, float *out, int w) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x] = in[(y + r) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32;
  for (int r = threadIdx.y; r < 32; r += 8) out[(y + r) * w + x] = tile[threadIdx.x][r];
}

__global__ void tile_swizzled(const float *in, float *out, int w) {
  __shared__ float tile[32][32];
  int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32;
  for (int r = threadIdx.y; r < 32; r += 8) tile[r][threadIdx.x ^ r] = in[(y + r) * w + x];
  __syncthreads();
  x = blockIdx.y * 32 + threadIdx.x, y = blockIdx.x * 32;
  for (int r = threadIdx.y; r < 32; r += 8) out[(y + r) * w + x] = tile[threadIdx.x][r ^ threadIdx.x];
}

__global__ void row_sums(const float *in, float *out, int w) {
  int y = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int x = 0; x < w; x++) sum += in[size_t(y) * w + x];
  out[y] = sum;
}

__global__ void column_sums(const float *in, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int y = 0; y < h; y++) sum += in[size_t(y) * w + x];
  out[x] = sum;
}

int main() {
  const int n = 1 << 18, w = 1024;
  float *big = randoms<float>(w * w * 2), *out = zeros<float>(w * w);
  one_field<<<n / 256, 256>>>((Particle *)big, out, n);
  done("one_field", out, n);
  all_fields<<<n / 256, 256>>>((Particle *)big, n);
  columns_in<<<dim3(w / 32, w / 8), dim3(32, 8)>>>(big, out, w);
  done("columns_in", out, w * w);
  tile_unpadded<<<dim3(w / 32, w / 32), dim3(32, 8)>>>(big, out, w);
  done("tile_unpadded", out, w * w);
  tile_swizzled<<<dim3(w / 32, w / 32), dim3(32, 8)>>>(big, out, w);
  done("tile_swizzled", out, w * w);
  row_sums<<<4096 / 64, 64>>>(big, out, 256);
  done("row_sums", out, 4096);
  column_sums<<<4096 / 64, 64>>>(big, out, 4096, 256);
  done("column_sums", out, 4096);
}
