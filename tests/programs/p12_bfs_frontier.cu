// Breadth-first search, a launch per level: frontier queues filled with atomics, loop decided on the host.
#include <cstdio>
#include <queue>
#include <vector>

#include <cuda_runtime.h>

__global__ void expand(const int *first, const int *edge, const int *from, int n, int *to, int *size, int *dist, int level) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = from[i];
  for (int e = first[v]; e < first[v + 1]; e++)
    if (atomicCAS(&dist[edge[e]], -1, level) == -1) to[atomicAdd(size, 1)] = edge[e];
}

int main() {
  const int n = 4000;
  std::vector<int> first(n + 1), edge;
  for (int v = 0; v < n; v++) {
    first[v] = int(edge.size());
    for (int k = 1; k <= 4; k++) edge.push_back((v * k + 7 * k * k) % n);
  }
  first[n] = int(edge.size());
  int *d_first, *d_edge, *d_queue[2], *d_size, *d_dist;
  cudaMalloc(&d_first, (n + 1) * sizeof(int));
  cudaMalloc(&d_edge, edge.size() * sizeof(int));
  cudaMalloc(&d_queue[0], n * sizeof(int));
  cudaMalloc(&d_queue[1], n * sizeof(int));
  cudaMalloc(&d_size, sizeof(int));
  cudaMalloc(&d_dist, n * sizeof(int));
  cudaMemcpy(d_first, first.data(), (n + 1) * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(d_edge, edge.data(), edge.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemset(d_dist, 0xff, n * sizeof(int));
  int zero = 0, size = 1, level = 0;
  cudaMemcpy(d_queue[0], &zero, sizeof zero, cudaMemcpyHostToDevice);
  cudaMemcpy(d_dist, &zero, sizeof zero, cudaMemcpyHostToDevice);
  while (size > 0) {
    cudaMemset(d_size, 0, sizeof(int));
    expand<<<(size + 127) / 128, 128>>>(d_first, d_edge, d_queue[level % 2], size, d_queue[1 - level % 2], d_size,
                                        d_dist, level + 1);
    level++;
    cudaMemcpy(&size, d_size, sizeof size, cudaMemcpyDeviceToHost);
  }
  std::vector<int> got(n), want(n, -1);
  cudaMemcpy(got.data(), d_dist, n * sizeof(int), cudaMemcpyDeviceToHost);
  std::queue<int> q;
  q.push(0), want[0] = 0;
  int reached = 0;
  for (; !q.empty(); q.pop(), reached++)
    for (int e = first[q.front()]; e < first[q.front() + 1]; e++)
      if (want[edge[e]] < 0) want[edge[e]] = want[q.front()] + 1, q.push(edge[e]);
  printf("reached=%d levels=%d %s\n", reached, level, got == want ? "PASS" : "FAIL");
  return got != want;
}
