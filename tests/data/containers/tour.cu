// A little of everything a cubin can hold: globals, constants, shared memory, calls, a recursion, printf, bounds.
#include <cstdio>

__device__ int table[4] = {1, 2, 3, 4};
__device__ int *third = &table[2];
__device__ int counter;
__constant__ float coefficients[8] = {1, 2, 3};

__device__ __noinline__ int twice(int value) { return value * 2 + table[value & 3]; }
__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void calls(int *out, int n) {
  __shared__ int tile[32];
  tile[threadIdx.x] = n;
  __syncthreads();
  out[0] = twice(n) + fibonacci(n) + tile[n] + *third + (int)coefficients[n];
  if (n < 0) printf("negative %d\n", n);
}

template <class T, int N>
__global__ void __launch_bounds__(128, 2) scale(T *out, const T *in, const float3 by) {
  out[threadIdx.x] = in[threadIdx.x] * by.y + N;
}
template __global__ void scale<float, 3>(float *, const float *, float3);

__global__ void choose(int *out, int which) {
  switch (which) {
    case 0: out[0] = fibonacci(3); break;
    case 1: out[1] = twice(2); break;
    case 2: out[5] = 77; break;
    case 3: out[9] = out[1]; break;
    case 4: __syncthreads(); out[1] = 3; break;
    case 5: counter += which; break;
  }
}

int main() {
  calls<<<1, 1>>>(nullptr, 0);
  scale<float, 3><<<1, 1>>>(nullptr, nullptr, float3{});
  choose<<<1, 1>>>(nullptr, 1);
}
