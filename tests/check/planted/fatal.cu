// Faults that end the context: one a run, chosen by the first argument; `good` as the second runs the twin.
#include "common.h"

constexpr int kThreads = 64;

template <class T, bool kBad> __global__ void shared_past_end(int* out) {
  __shared__ T s[kThreads];
  s[threadIdx.x + (kBad ? 1 : 0)] = make<T>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = first(s[threadIdx.x]);
}
template <class T, bool kBad> __global__ void misaligned(char* p) {
  *reinterpret_cast<T*>(p + sizeof(T) * threadIdx.x + (kBad ? 1 : 0)) = make<T>(threadIdx.x);
}
template <class T, bool kBad> __global__ void pointer(T* p) { p[threadIdx.x] = make<T>(threadIdx.x); }
template <class T, bool kBad> __global__ void local_past_end(int* out, int n) {
  volatile int a[16];  // volatile: it stays in local memory
  for (int i = 0; i < 16; ++i) a[i] = i * n;
  out[threadIdx.x] = a[kBad ? n * 100000 : n];
}
template <class T, bool kBad> __global__ void stop(T* p) {
  if (kBad && threadIdx.x == 3) asm("trap;");
  p[threadIdx.x] = 1;
}
template <class T, bool kBad> __global__ void double_free(T* p) {
  T* own = static_cast<T*>(malloc(3 * sizeof(T)));
  own[0] = T(threadIdx.x);
  p[threadIdx.x] = own[0];
  free(own);
  if (kBad && threadIdx.x == 5) free(own);
}
template <class T, bool kBad> __global__ void invalid_free(T* p) {
  T* own = static_cast<T*>(malloc(3 * sizeof(T)));
  own[0] = T(threadIdx.x);
  p[threadIdx.x] = own[0];
  free(own + (kBad && threadIdx.x == 5 ? 1 : 0));
}
template <class T, bool kBad> __global__ void kept(T* p) {
  T* own = static_cast<T*>(malloc(3 * sizeof(T)));
  own[0] = T(threadIdx.x);
  p[threadIdx.x] = own[0];
  if (!kBad) free(own);
}

template <class T, bool kBad> bool by_width(const char* kind, int* out, char* bytes) {
  if (!strcmp(kind, "shared")) shared_past_end<T, kBad><<<1, kThreads>>>(out);
  else if (!strcmp(kind, "misaligned")) misaligned<T, kBad><<<1, kThreads>>>(bytes);
  else return false;
  return true;
}
template <bool kBad> int run(const char* kind, const char* width) {
  int* out = device<int>(kThreads);
  char* bytes = device<char>(32 * kThreads);
  static int on_host[kThreads];
  const char* end = width;
  bool done = false;
  if (!strcmp(width, "1")) done = by_width<char, kBad>(kind, out, bytes);
  if (!strcmp(width, "2")) done = by_width<short, kBad>(kind, out, bytes);
  if (!strcmp(width, "4")) done = by_width<int, kBad>(kind, out, bytes);
  if (!strcmp(width, "8")) done = by_width<long long, kBad>(kind, out, bytes);
  if (!strcmp(width, "16")) done = by_width<int4, kBad>(kind, out, bytes);
  if (done) (void)end;
  else if (!strcmp(kind, "host")) pointer<int, kBad><<<1, kThreads>>>(kBad ? on_host : out);
  else if (!strcmp(kind, "null")) pointer<int, kBad><<<1, kThreads>>>(kBad ? nullptr : out);
  else if (!strcmp(kind, "far")) pointer<int, kBad><<<1, kThreads>>>(kBad ? out + (1ll << 38) : out);
  else if (!strcmp(kind, "local")) local_past_end<int, kBad><<<1, kThreads>>>(out, 1);
  else if (!strcmp(kind, "trap")) stop<int, kBad><<<1, kThreads>>>(out);
  else if (!strcmp(kind, "double_free")) double_free<int, kBad><<<1, kThreads>>>(out);
  else if (!strcmp(kind, "invalid_free")) invalid_free<int, kBad><<<1, kThreads>>>(out);
  else if (!strcmp(kind, "kept")) kept<int, kBad><<<1, kThreads>>>(out);
  else if (!strcmp(kind, "reset")) {  // the heap begins anew
    kept<int, kBad><<<1, kThreads>>>(out);
    check(cudaDeviceReset(), "reset");
    out = device<int>(kThreads);
    bytes = device<char>(32 * kThreads);
    double_free<int, false><<<1, kThreads>>>(out);
  } else return 2;
  wait(kind);
  cudaFree(out);
  cudaFree(bytes);
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return argc > 3 ? run<false>(argv[1], argv[2]) : run<true>(argv[1], argv[2]);
}
