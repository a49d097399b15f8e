// Copies to a variable whose module is only loaded by that, in streams that wait for nothing.
#include <cstdio>
#include <cstdlib>

#include <cuda_runtime.h>

__device__ int table[64];

int main(int, char **arguments) {
  const int mode = atoi(arguments[1]);
  int from[64], back[64] = {};
  for (int i = 0; i < 64; i++) from[i] = i * i;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, mode & 1 ? cudaStreamNonBlocking : cudaStreamDefault);
  void *address;
  if (mode & 2) {
    cudaGetSymbolAddress(&address, table);
    cudaMemcpyAsync(address, from, sizeof from, cudaMemcpyHostToDevice, stream);
  } else {
    cudaMemcpyToSymbolAsync(table, from, sizeof from, 0, cudaMemcpyHostToDevice, stream);
  }
  cudaStreamSynchronize(stream);
  cudaMemcpyFromSymbol(back, table, sizeof back);
  printf("%d\n", back[5]);
  return 0;
}
