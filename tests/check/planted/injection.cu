// A program that harms itself or warpath: killed at its Nth call, random bytes to the server, memory exhausted.
#include <csignal>
#include <random>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/time.h>
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

static int dial() {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, getenv("WARPATH_SOCKET"), sizeof address.sun_path - 1);
  return connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? fd : -1;
}

// Connections that say anything: noise, frames with a true header and a false length, and ends in the middle.
static int noise(unsigned seed, int connections) {
  std::mt19937 random(seed);
  for (int i = 0; i < connections; ++i) {
    const int fd = dial();
    if (fd < 0) return 3;
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

static void put(std::vector<unsigned char>& bytes, const void* from, size_t size) {
  const auto* first = static_cast<const unsigned char*>(from);
  bytes.insert(bytes.end(), first, first + size);
}
static std::vector<unsigned char> framed(unsigned kind, const std::vector<unsigned char>& payload) {
  const unsigned header[2] = {kind, unsigned(payload.size())};
  std::vector<unsigned char> bytes;
  put(bytes, header, sizeof header);
  put(bytes, payload.data(), payload.size());
  return bytes;
}

// Connections that introduce themselves as another thread of this process would, and then go away in the middle of
// a call, or in the middle of the answer to what the server asks in return.
static int cut(unsigned seed, unsigned version, int connections) {
  std::mt19937 random(seed);
  unsigned long long image = 14695981039346656037u;
  const auto* bytes = reinterpret_cast<const unsigned char*>(getauxval(AT_RANDOM));
  for (int i = 0; i < 16; ++i) image = (image ^ bytes[i]) * 1099511628211u;
  int* p = device<int>(64);
  unsigned long long room = 0;
  const auto to = reinterpret_cast<unsigned long long>(&room), from = reinterpret_cast<unsigned long long>(p);
  const struct {
    const char* name;
    unsigned count;
    unsigned long long words[4];
  } calls[] = {{"cudaMalloc", 2, {to, 64}},         {"cudaMemcpy", 4, {to, from, 8, cudaMemcpyDeviceToHost}},
               {"cudaGetDeviceCount", 1, {to}},     {"cudaMallocHost", 2, {to, 64}},
               {"cudaMemcpy", 4, {from, to, 8, cudaMemcpyHostToDevice}}, {"cudaFree", 1, {to}},
               {"cudaStreamCreate", 1, {to}},       {"cudaDeviceSynchronize", 0, {}}};
  for (int i = 0; i < connections; ++i) {
    const int fd = dial();
    if (fd < 0) return 3;
    std::vector<unsigned char> hello, call;
    const unsigned words[6] = {version, 13, unsigned(getpid()), 1000000u + unsigned(i), 0, 0};
    put(hello, words, sizeof words);
    put(hello, &image, sizeof image);
    hello = framed(1, hello);
    const auto& chosen = calls[random() % (sizeof calls / sizeof *calls)];
    const unsigned counts[2] = {chosen.count, unsigned(strlen(chosen.name))};
    put(call, counts, sizeof counts);
    put(call, chosen.words, chosen.count * sizeof *chosen.words);
    put(call, chosen.name, strlen(chosen.name));
    call = framed(2, call);
    if (random() % 2) call.resize(random() % call.size());
    send(fd, hello.data(), hello.size(), MSG_NOSIGNAL);
    send(fd, call.data(), call.size(), MSG_NOSIGNAL);
    if (random() % 2) {
      unsigned char answer[4096];
      const timeval moment{0, 20000};
      setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
      if (recv(fd, answer, sizeof answer, 0) > 0) send(fd, framed(3, call).data(), 5, MSG_NOSIGNAL);
    }
    close(fd);
  }
  check(cudaMemset(p, 0, 64 * sizeof *p), "memset");
  add<<<1, 64>>>(p);
  wait("after the cuts");
  int got[64];
  check(cudaMemcpy(got, p, sizeof got, cudaMemcpyDeviceToHost), "copy");
  printf("%d of %d\n", got[63], connections);
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
  if (argc > 3 && !strcmp(argv[1], "cut")) return cut(number, atoi(argv[3]), 100);
  if (argc > 1 && !strcmp(argv[1], "exhaust")) return exhaust();
  last = number;
  announce();
  return call_by_call();
}
