// One thread follows a list through memory. Teaches what one load costs when nothing else can be done meanwhile.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

constexpr int kNodes = 64, kApart = 1024;  // words between two nodes: each is in a sector of its own

__global__ void follow(const int *next, int *out) {
  int at = 0;
  for (int i = 0; i < kNodes; i++) at = next[at];
  *out = at;
}

int main() {
  std::vector<int> list(kNodes * kApart, -1);
  for (int i = 0; i < kNodes; i++) list[i * kApart] = (i * 5 + 3) % kNodes * kApart;
  int *next, *out, got = 0, want = 0;
  for (int i = 0; i < kNodes; i++) want = list[want];
  cudaMalloc(&next, list.size() * sizeof(int));
  cudaMalloc(&out, sizeof(int));
  cudaMemcpy(next, list.data(), list.size() * sizeof(int), cudaMemcpyHostToDevice);
  follow<<<1, 1>>>(next, out);
  cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost);
  printf("at=%d want=%d %s\n", got, want, got == want ? "PASS" : "FAIL");
  return got != want;
}
