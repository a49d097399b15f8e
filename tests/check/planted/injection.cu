// A program that harms itself or warpath: killed at its Nth call, random bytes to the server, memory exhausted.
#include <csignal>
#include <random>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

#include "common.h"

__global__ void add(int* p) { p[threadIdx.x] += 1; }

static int steps = 0, last = -1;
static void step() {
  if (steps++ == last) raise(SIGKILL);
}
static void announce() {
  printf("%d %s\n", int(getpid()), getenv("WARPATH_SOCKET"));
  fflush(stdout);
}

static int call_by_call() {
  int *p = nullptr, *host = nullptr;
  cudaStream_t stream;
  cudaEvent_t event;
  step(), check(cudaMalloc(&p, 1 << 20), "malloc");
  step(), check(cudaMallocHost(&host, 1 << 20), "malloc host");
  step(), check(cudaStreamCreate(&stream), "stream");
  step(), check(cudaEventCreate(&event), "event");
  step(), check(cudaMemsetAsync(p, 0, 1 << 20, stream), "memset");
  step(), add<<<1, 64, 0, stream>>>(p);
  step(), check(cudaMemcpyAsync(host, p, 1 << 20, cudaMemcpyDeviceToHost, stream), "copy");
  step(), check(cudaEventRecord(event, stream), "record");
  step(), check(cudaStreamSynchronize(stream), "synchronize");
  step(), check(cudaFree(p), "free");
  step(), check(cudaFreeHost(host), "free host");
  step();
  printf("%d steps\n", steps);
  return 0;
}

// Connections that say anything: noise, frames with a true header and a false length, and ends in the middle.
static int noise(unsigned seed, int connections) {
  std::mt19937 random(seed);
  for (int i = 0; i < connections; ++i) {
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    strncpy(address.sun_path, getenv("WARPATH_SOCKET"), sizeof address.sun_path - 1);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return 3;
    std::vector<unsigned char> bytes(random() % 200);
    for (auto& byte : bytes) byte = random() % 4 ? random() % 16 : random();
    if (bytes.size() >= 8 && random() % 2) memset(bytes.data() + 1, 0, 7);
    if (!bytes.empty() && write(fd, bytes.data(), bytes.size()) < 0) perror("write");
    close(fd);
  }
  int count = 0;
  check(cudaGetDeviceCount(&count), "count");
  int* p = device<int>(64);
  add<<<1, 64>>>(p);
  wait("after the noise");
  printf("%d devices\n", count);
  return 0;
}

static int exhaust() {
  void* p;
  int taken = 0;
  for (auto allocate : {+[](void** q, size_t n) { return cudaMallocHost(q, n); },
                        +[](void** q, size_t n) { return cudaMalloc(q, n); },
                        +[](void** q, size_t n) { return cudaMallocManaged(q, n); }}) {
    cudaError_t error = cudaSuccess;
    for (taken = 0; taken < 100000 && error == cudaSuccess; ++taken) error = allocate(&p, size_t{1} << 33);
    printf("%d ", int(error));
  }
  add<<<1, 64>>>(device<int>(64));
  printf("then %d\n", int(cudaDeviceSynchronize()));
  return 0;
}

int main(int argc, char** argv) {
  const int number = argc > 2 ? atoi(argv[2]) : -1;
  if (argc > 1 && !strcmp(argv[1], "noise")) return noise(number, 200);
  if (argc > 1 && !strcmp(argv[1], "exhaust")) return exhaust();
  last = number;
  announce();
  return call_by_call();
}
