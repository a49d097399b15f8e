// Four host threads, each with a stream of its own, ring doorbells at once; a handler for SIGSEGV of the program's own.
#include <csignal>
#include <cstdio>
#include <pthread.h>

#include <cuda_runtime.h>

__global__ void step(unsigned *p, unsigned by) { p[threadIdx.x] = p[threadIdx.x] * 3u + by; }

static const int kThreads = 4, kLaunches = 200, kWords = 64;
static unsigned result[kThreads][kWords];

static void on_segv(int) { _Exit(9); }

static void *work(void *argument) {
  int me = (int)(size_t)argument;
  unsigned *d;
  cudaStream_t s;
  cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
  cudaMalloc(&d, sizeof result[me]);
  cudaMemsetAsync(d, 0, sizeof result[me], s);
  for (int i = 0; i < kLaunches; i++) step<<<1, kWords, 0, s>>>(d, i + me);
  cudaMemcpyAsync(result[me], d, sizeof result[me], cudaMemcpyDeviceToHost, s);
  cudaStreamSynchronize(s);
  return nullptr;
}

int main() {
  signal(SIGSEGV, on_segv);
  pthread_t threads[kThreads];
  for (int t = 0; t < kThreads; t++) pthread_create(&threads[t], nullptr, work, (void *)(size_t)t);
  for (int t = 0; t < kThreads; t++) pthread_join(threads[t], nullptr);
  int bad = 0;
  for (int t = 0; t < kThreads; t++) {
    unsigned want = 0;
    for (int i = 0; i < kLaunches; i++) want = want * 3u + i + t;
    for (int w = 0; w < kWords; w++) bad += result[t][w] != want;
  }
  printf("bad=%d %s %s\n", bad, cudaGetErrorString(cudaGetLastError()), bad ? "FAIL" : "PASS");
  return bad != 0;
}
