// Programs that use threads, fork, exec, crash, exit or hang; the first argument says which.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <cuda_runtime.h>

__global__ void add(int *p, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += k;
}

__global__ void forever(volatile int *p) {
  while (*p == 0) {
  }
}

// What the tests need to look for leftovers: the process and where its server listens.
static void announce() {
  printf("%d %s\n", (int)getpid(), getenv("WARPATH_SOCKET"));
  fflush(stdout);
}

static int rounds(cudaStream_t stream, int k) {
  const int n = 1000;
  int *p, bad = 0;
  std::vector<int> back(n);
  if (cudaMallocAsync(&p, n * sizeof(int), stream) != cudaSuccess) return 1;
  cudaMemsetAsync(p, 0, n * sizeof(int), stream);
  for (int i = 0; i < 20; i++) add<<<4, 256, 0, stream>>>(p, n, k);
  bad += cudaMemcpyAsync(back.data(), p, n * sizeof(int), cudaMemcpyDeviceToHost, stream) != cudaSuccess;
  bad += cudaStreamSynchronize(stream) != cudaSuccess;
  for (int x : back) bad += x != 20 * k;
  return bad + (cudaFreeAsync(p, stream) != cudaSuccess);  // cudaFree would wait for all streams
}

static void work(int k, int *bad) {
  cudaStream_t stream;
  int device = -1;
  *bad = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess;
  if (k % 2) cudaSetDevice(9);  // fails, in this thread alone
  for (int i = 0; i < 5; i++) *bad += rounds(stream, k);
  *bad += (cudaGetLastError() != cudaSuccess) != (k % 2);
  *bad += cudaGetDevice(&device) != cudaSuccess || device != 0;
  *bad += cudaStreamDestroy(stream) != cudaSuccess;
}

static int threads() {
  std::vector<std::thread> all;
  std::vector<int> bad(4);
  for (int i = 0; i < 4; i++) all.emplace_back(work, i + 1, &bad[i]);
  for (auto &one : all) one.join();
  printf("%d %d %d %d\n", bad[0], bad[1], bad[2], bad[3]);
  return 0;
}

// One kernel never ends until the other thread, whose own stream must go on meanwhile, lets it.
static int beside() {
  volatile int *flag;
  cudaStream_t one, two;
  cudaMallocHost((void **)&flag, sizeof(int));
  *flag = 0;
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
  forever<<<1, 32, 0, one>>>(flag);
  int bad = rounds(two, 3);
  printf("%d %s\n", bad, cudaGetErrorName(cudaStreamQuery(one)));
  *flag = 1;
  printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}

static int forked(bool used) {
  if (used) cudaFree(0);
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    int bad = rounds(0, 5);
    printf("child %d %s\n", bad, cudaGetErrorName(cudaGetLastError()));
    exit(0);
  }
  waitpid(pid, NULL, 0);
  printf("parent %d\n", rounds(0, 7));
  return 0;
}

static int executed(char **arguments) {
  printf("first %d\n", rounds(0, 1));
  fflush(stdout);
  arguments[1] = strdup("once");
  execv("/proc/self/exe", arguments);
  return 1;
}

static void crash(void *nowhere) { *(volatile int *)nowhere = 1; }
static void leave(void *) { exit(7); }

static int hang() {
  int *zero;
  cudaMalloc(&zero, sizeof(int));
  cudaMemset(zero, 0, sizeof(int));
  forever<<<1, 32>>>(zero);
  announce();
  cudaDeviceSynchronize();
  return 0;
}

// A kernel stops the run (registered memory cannot be reached) or never ends, with output still in stdio's buffer.
static int stopped(const char *mode) {
  static int value;
  int *zero;
  cudaMalloc(&zero, sizeof(int));
  cudaMemset(zero, 0, sizeof(int));
  cudaHostRegister(&value, sizeof value, cudaHostRegisterDefault);
  printf("before\n");
  forever<<<1, 32>>>(strcmp(mode, "endless") ? &value : zero);
  if (!strcmp(mode, "between-calls")) return usleep(300000), printf("after\n"), 0;
  cudaDeviceSynchronize();
  return 0;
}

int main(int, char **arguments) {
  const char *mode = arguments[1];
  if (!strcmp(mode, "threads")) return threads();
  if (!strcmp(mode, "beside")) return beside();
  if (!strcmp(mode, "fork")) return forked(false);
  if (!strcmp(mode, "fork-after-use")) return forked(true);
  if (!strcmp(mode, "exec")) return executed(arguments);
  if (!strcmp(mode, "once")) return printf("second %d\n", rounds(0, 2)), 4;
  if (!strcmp(mode, "hang")) return hang();
  if (!strcmp(mode, "in-call") || !strcmp(mode, "between-calls") || !strcmp(mode, "endless")) return stopped(mode);
  announce();
  cudaLaunchHostFunc(0, strcmp(mode, "crash") ? leave : crash, nullptr);
  cudaDeviceSynchronize();
  return 0;
}
