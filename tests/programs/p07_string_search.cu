// Find every occurrence of a word in a text: byte loads, early exits, compaction by an atomic counter.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <cuda_runtime.h>

__global__ void find(const char *text, int n, const char *word, int m, int *hits, int *count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + m > n) return;
  for (int k = 0; k < m; k++)
    if (text[i + k] != word[k]) return;
  hits[atomicAdd(count, 1)] = i;
}

int main() {
  std::string text;
  for (int i = 0; i < 3000; i++) text += i % 7 == 0 ? "warp" : i % 5 == 0 ? "path warpath " : "wa ";
  const char word[] = "warpath";
  const int n = int(text.size()), m = int(strlen(word));
  char *d_text, *d_word;
  int *d_hits, *d_count, count = 0;
  cudaMalloc(&d_text, n);
  cudaMalloc(&d_word, m);
  cudaMalloc(&d_hits, n * sizeof(int));
  cudaMalloc(&d_count, sizeof(int));
  cudaMemcpy(d_text, text.data(), n, cudaMemcpyHostToDevice);
  cudaMemcpy(d_word, word, m, cudaMemcpyHostToDevice);
  cudaMemset(d_count, 0, sizeof(int));
  find<<<(n + 127) / 128, 128>>>(d_text, n, d_word, m, d_hits, d_count);
  cudaMemcpy(&count, d_count, sizeof(int), cudaMemcpyDeviceToHost);
  std::vector<int> hits(count), want;
  cudaMemcpy(hits.data(), d_hits, count * sizeof(int), cudaMemcpyDeviceToHost);
  std::sort(hits.begin(), hits.end());
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) want.push_back(int(at));
  printf("hits=%d first=%d last=%d %s\n", count, hits.front(), hits.back(), hits == want ? "PASS" : "FAIL");
  return hits != want;
}
