// The way of work to the GPU: what calls cost the host, how long queued work follows work, copies, graphs. Microseconds.
#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "common.cuh"

using Work = std::function<void()>;
__global__ void empty() {}
__global__ void spin(long long n) {
  long long t = clock64();
  while (clock64() - t < n) {
  }
}
cudaStream_t s;
cudaEvent_t a, b;
double now() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
int repeats = 31;
double median(const std::function<double()> &f) {
  std::vector<double> v;
  for (int i = 0; i < repeats; i++) v.push_back(f());
  std::sort(v.begin(), v.end());
  return v[repeats / 2];
}
void sync() { CK(cudaStreamSynchronize(s)); }
void say(const std::string &what, double x, double us) { report("path", what.c_str(), x, us); }
// Host: until the call returns on an idle stream, and until it is done. GPU: between events on an idle and on a busy stream.
void probe(const std::string &what, double x, const Work &work) {
  auto host = [&](bool wait) {
    return median([&] {
      sync();
      double t = now();
      work();
      if (wait) sync();
      return now() - t;
    });
  };
  auto gpu = [&](bool busy) {
    return median([&] {
      float ms;
      sync();
      if (busy) spin<<<1, 1, 0, s>>>(600000);
      cudaEventRecord(a, s);
      work();
      cudaEventRecord(b, s);
      sync();
      cudaEventElapsedTime(&ms, a, b);
      return ms * 1e3;
    });
  };
  say(what + "_call", x, host(false));
  say(what + "_done", x, host(true));
  say(what + "_idle", x, gpu(false));
  say(what + "_busy", x, gpu(true));
}
int main(int argc, char **argv) {
  if (argc > 1) repeats = atoi(argv[1]);
  CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
  cudaEventCreate(&a);
  cudaEventCreate(&b);
  double t = now();
  empty<<<1, 32, 0, s>>>();
  say("first", 0, now() - t);
  auto launches = [](int n) { return [n] { for (int i = 0; i < n; i++) empty<<<1, 32, 0, s>>>(); }; };
  probe("nothing", 0, [] {});
  for (int n : {1, 2, 10, 50, 100}) probe("launch", n, launches(n));
  probe("record", 1, [] { cudaEventRecord(b, s); });
  for (int n : {1, 2, 10, 50, 100}) {
    cudaGraph_t g;
    cudaGraphExec_t e;
    cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
    launches(n)();
    cudaStreamEndCapture(s, &g);
    CK(cudaGraphInstantiate(&e, g, 0));
    probe("graph", n, [e] { cudaGraphLaunch(e, s); });
  }
  char *d, *d2, *p, *m = (char *)calloc(1, 64 << 20);
  CK(cudaMalloc(&d, 64 << 20));
  CK(cudaMalloc(&d2, 64 << 20));
  CK(cudaMallocHost(&p, 64 << 20));
  for (size_t z = 4; z <= 64 << 20; z *= 16) {
    for (auto [what, to, from] : {std::tuple{"pinned_up", d, p}, {"pinned_down", p, d}, {"pageable_up", d, m},
                                 {"pageable_down", m, d}, {"device", d2, d}})
      probe(what, z, [=, to = to, from = from] { cudaMemcpyAsync(to, from, z, cudaMemcpyDefault, s); });
    probe("memset", z, [=] { cudaMemsetAsync(d, 0, z, s); });
  }
  void *q;
  say("malloc", 1 << 20, median([&] { double t = now(); cudaMalloc(&q, 1 << 20); t = now() - t; cudaFree(q); return t; }));
  say("free", 1 << 20, median([&] { cudaMalloc(&q, 1 << 20); double t = now(); cudaFree(q); return now() - t; }));
  say("last_error", 0, median([&] { double t = now(); for (int i = 0; i < 100; i++) cudaGetLastError(); return (now() - t) / 100; }));
  return 0;
}
