// Templates, lambdas, virtual-free polymorphism, device function pointers, recursion with a stack.
#include <cstdio>
#include <vector>

#include <cuda_runtime.h>

template <class T, int N>
struct Poly {
  T c[N];
  __host__ __device__ T operator()(T x) const {
    T y = c[N - 1];
#pragma unroll
    for (int i = N - 2; i >= 0; i--) y = y * x + c[i];
    return y;
  }
};

template <class F, class T>
__global__ void map(F f, const T *in, T *out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(in[i]);
}

using Op = int (*)(int);
__device__ int twice(int x) { return 2 * x; }
__device__ int minus_one(int x) { return x - 1; }
__device__ Op table[2] = {twice, minus_one};

__device__ __noinline__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__global__ void pointers(int *out) {
  out[threadIdx.x] = table[threadIdx.x % 2](threadIdx.x) + ackermann(2, threadIdx.x % 4);
}

template <class T, class F>
int check(F f, const char *name) {
  const int n = 1000;
  std::vector<T> in(n), out(n);
  for (int i = 0; i < n; i++) in[i] = T(i % 16);
  T *d_in, *d_out;
  cudaMalloc(&d_in, n * sizeof(T));
  cudaMalloc(&d_out, n * sizeof(T));
  cudaMemcpy(d_in, in.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  map<<<4, 256>>>(f, d_in, d_out, n);
  cudaMemcpy(out.data(), d_out, n * sizeof(T), cudaMemcpyDeviceToHost);
  int bad = 0;
  for (int i = 0; i < n; i++) bad += out[i] != f(in[i]);
  printf("%s bad=%d\n", name, bad);
  cudaFree(d_in);
  cudaFree(d_out);
  return bad;
}

int main() {
  int bad = check<float>(Poly<float, 4>{{1, -2, 3, 0.5f}}, "float");
  bad += check<double>(Poly<double, 3>{{0.25, 1, 2}}, "double");
  bad += check<long long>(Poly<long long, 5>{{7, -1, 0, 2, 3}}, "long long");
  bad += check<short>(Poly<short, 2>{{3, 2}}, "short");
  int *d, got[64];
  cudaMalloc(&d, sizeof got);
  pointers<<<1, 64>>>(d);
  cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++) bad += got[i] != (i % 2 ? i - 1 : 2 * i) + 2 * (i % 4) + 3;
  printf("pointers %s\n%s\n", cudaGetErrorString(cudaGetLastError()), bad ? "FAIL" : "PASS");
  return bad != 0;
}
