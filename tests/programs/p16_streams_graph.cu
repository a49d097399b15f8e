// Two streams, events between them, async copies from pinned memory, a host callback, and the same work as a graph.
#include <cstdio>
#include <cstring>

#include <cuda_runtime.h>

__global__ void add(int *p, int v, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += v;
}

static int calls = 0;
static void count(void *arg) { calls += *(int *)arg; }

int main() {
  const int n = 4096;
  int *h, *d, three = 3;
  cudaMallocHost(&h, n * sizeof(int));
  cudaMalloc(&d, n * sizeof(int));
  for (int i = 0; i < n; i++) h[i] = i;
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  cudaEvent_t ready, done;
  cudaEventCreate(&ready);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaMemcpyAsync(d, h, n * sizeof(int), cudaMemcpyHostToDevice, a);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready, 0);
  add<<<n / 256, 256, 0, b>>>(d, 10, n);
  cudaLaunchHostFunc(b, count, &three);
  cudaEventRecord(done, b);
  cudaStreamWaitEvent(a, done, 0);
  cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, a);
  cudaStreamSynchronize(a);
  int bad = 0;
  for (int i = 0; i < n; i++) bad += h[i] != i + 10;

  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal);
  cudaMemsetAsync(d, 0, n * sizeof(int), a);
  for (int k = 1; k <= 4; k++) add<<<n / 256, 256, 0, a>>>(d, k, n);
  cudaMemcpyAsync(h, d, n * sizeof(int), cudaMemcpyDeviceToHost, a);
  cudaStreamEndCapture(a, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  size_t nodes = 0;
  cudaGraphGetNodes(graph, nullptr, &nodes);
  memset(h, 0xff, n * sizeof(int));
  cudaGraphLaunch(exec, a);
  cudaGraphLaunch(exec, a);
  cudaStreamSynchronize(a);
  for (int i = 0; i < n; i++) bad += h[i] != 10;
  float ms = -1;
  cudaEvent_t t0, t1;
  cudaEventCreate(&t0);
  cudaEventCreate(&t1);
  cudaEventRecord(t0, a);
  cudaEventRecord(t1, a);
  cudaEventSynchronize(t1);
  cudaError_t timed = cudaEventElapsedTime(&ms, t0, t1);
  printf("calls=%d nodes=%zu elapsed %s bad=%d last=%s %s\n", calls, nodes, timed == cudaSuccess && ms >= 0 ? "ok" : "bad",
         bad, cudaGetErrorString(cudaGetLastError()), bad || calls != 3 ? "FAIL" : "PASS");
  return bad || calls != 3;
}
