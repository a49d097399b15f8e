// A kernel that runs until the host says so: through pinned memory after polling, and through a copy by another thread.
#include <atomic>
#include <cstdio>
#include <thread>

#include <cuda_runtime.h>

__global__ void run_until(volatile int *flag, int *out) {
  while (!*flag) {
  }
  *out = 5;
}

int main() {
  int *pinned, *flag, *out, host = 0, busy = 0;
  cudaStream_t first, second;
  cudaEvent_t done;
  cudaMallocHost(&pinned, 4);
  cudaMalloc(&flag, 4);
  cudaMalloc(&out, 4);
  cudaMemset(flag, 0, 4);
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaEventCreate(&done);
  cudaDeviceSynchronize();

  *pinned = 0;
  run_until<<<1, 32, 0, first>>>(pinned, out);
  cudaEventRecord(done, first);
  while (busy < 3 && cudaEventQuery(done) == cudaErrorNotReady) busy++;
  *(volatile int *)pinned = 1;
  cudaError_t end = cudaEventSynchronize(done);
  cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost);
  printf("busy %d, then %s, out %d\n", busy, cudaGetErrorString(end), host);

  cudaMemset(out, 0, 4);
  cudaDeviceSynchronize();
  run_until<<<1, 32, 0, first>>>(flag, out);
  std::atomic<bool> waiting(false);
  std::thread other([&] {
    while (!waiting) std::this_thread::yield();
    int one = 1;
    cudaMemcpyAsync(flag, &one, 4, cudaMemcpyHostToDevice, second);
  });
  waiting = true;
  end = cudaStreamSynchronize(first);
  other.join();
  cudaMemcpy(&host, out, 4, cudaMemcpyDeviceToHost);
  printf("thread, then %s, out %d\n", cudaGetErrorString(end), host);
  return 0;
}
