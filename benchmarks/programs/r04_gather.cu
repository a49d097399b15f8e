// Indirect reads and writes: scattered words, whole rows, tables that fit L1 or L2.
#include "common.cuh"

__global__ void gather(const float *table, const int *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[index[i]];
}

__global__ void scatter(const float *in, const int *index, float *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}

__global__ void rows(const float *table, const int *index, float *out, int width) {
  int row = blockIdx.x * blockDim.y + threadIdx.y;
  const float *from = table + size_t(index[row]) * width;
  for (int c = threadIdx.x; c < width; c += 32) out[size_t(row) * width + c] = from[c];
}

__global__ void search(const int *sorted, int count, const int *keys, int *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int key = keys[i], low = 0, high = count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (sorted[middle] < key) low = middle + 1;
    else high = middle;
  }
  out[i] = low;
}

int main() {
  const int n = 1 << 18, big = 1 << 23, width = 128;
  float *table = zeros<float>(big), *out = zeros<float>(n * 32);
  int *far = randoms<int>(n, big), *near = randoms<int>(n, 1 << 16), *few = randoms<int>(n, 1 << 11);
  gather<<<n / 256, 256>>>(table, far, out, n);
  done("gather far", out, n);
  gather<<<n / 256, 256>>>(table, near, out, n);
  done("gather near", out, n);
  gather<<<n / 256, 256>>>(table, few, out, n);
  done("gather few", out, n);
  scatter<<<n / 256, 256>>>(table, near, out, n);
  done("scatter near", out, n);
  rows<<<8192 / 8, dim3(32, 8)>>>(table, near, out, width);
  done("rows", out, n);
  std::vector<int> sorted(1 << 16);
  for (size_t i = 0; i < sorted.size(); i++) sorted[i] = int(i);
  search<<<n / 4 / 256, 256>>>(upload(sorted), 1 << 16, near, (int *)out, n / 4);
  done("search", (int *)out, n / 4);
}
