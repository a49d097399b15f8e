// Irregular work: one level of a search, pushed ranks, a union of sets, pairs in cells.
#include "common.cuh"

__global__ void level(const int *start, const int *edge, int *depth, int now, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || depth[i] != now) return;
  for (int e = start[i]; e < start[i + 1]; e++)
    if (depth[edge[e]] < 0) depth[edge[e]] = now + 1;
}

__global__ void push(const int *start, const int *edge, const float *rank, float *next, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int from = start[i], to = start[i + 1];
  float share = rank[i] / (to - from);
  for (int e = from; e < to; e++) atomicAdd(&next[edge[e]], share);
}

__global__ void pull(const int *start, const int *edge, const float *rank, float *next, int n) {
  int row = (blockIdx.x * blockDim.x + threadIdx.x) / 8, lane = threadIdx.x % 8;
  if (row >= n) return;
  float sum = 0;
  for (int e = start[row] + lane; e < start[row + 1]; e += 8) sum += rank[edge[e]];
  for (int d = 4; d; d >>= 1) sum += __shfl_xor_sync(~0u, sum, d);
  if (lane == 0) next[row] = 0.15f + 0.85f * sum;
}

__global__ void roots(int *parent, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int p = parent[i];
  while (p != parent[p]) p = parent[p];
  parent[i] = p;
}

int main() {
  const int n = 1 << 15;
  Random random;
  std::vector<int> start(n + 1), edge, depth(n), parent(n);
  for (int i = 0; i < n; i++) {
    for (int k = 4 + random.next() % 12; k; k--) edge.push_back(random.next() % n);
    start[i + 1] = int(edge.size());
    depth[i] = i % 5 == 0 ? 0 : -1;
    parent[i] = i ? random.next() % i : 0;
  }
  int *s = upload(start), *e = upload(edge), *d = upload(depth);
  float *rank = randoms<float>(n), *next = zeros<float>(n);
  level<<<n / 256, 256>>>(s, e, d, 0, n);
  CHECK(cudaDeviceSynchronize());
  push<<<n / 256, 256>>>(s, e, rank, next, n);
  CHECK(cudaDeviceSynchronize());
  pull<<<n * 8 / 256, 256>>>(s, e, rank, next, n);
  done("pull", next, n);
  int *p = upload(parent);
  roots<<<n / 256, 256>>>(p, n);
  done("roots", p, n);
}
