// Times between events of a stream with copies, kernels and a synchronisation; with an argument the host sleeps in between.
#include <cstdio>
#include <unistd.h>
#include <cuda_runtime.h>
__global__ void work(float *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * 2 + 1;
}
int main(int argc, char **argv) {
  const int n = 1 << 18;
  float *d, *h;
  cudaEvent_t e[5];
  for (auto &one : e) cudaEventCreate(&one);
  cudaMalloc(&d, n * 4);
  cudaMallocHost(&h, n * 4);
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaEventRecord(e[0], s);
  cudaMemcpyAsync(d, h, n * 4, cudaMemcpyHostToDevice, s);
  cudaEventRecord(e[1], s);
  if (argc > 1) usleep(30000);
  for (int k = 0; k < 5; k++) work<<<n / 256, 256, 0, s>>>(d, n);
  cudaEventRecord(e[2], s);
  if (argc > 1) usleep(30000);
  cudaMemcpyAsync(h, d, n * 4, cudaMemcpyDeviceToHost, s);
  cudaEventRecord(e[3], s);
  cudaStreamSynchronize(s);
  work<<<n / 256, 256, 0, s>>>(d, n);
  cudaEventRecord(e[4], s);
  cudaEventSynchronize(e[4]);
  for (int k = 0; k < 4; k++) {
    float ms;
    cudaEventElapsedTime(&ms, e[k], e[k + 1]);
    printf("%.3f\n", ms * 1e3);
  }
}
