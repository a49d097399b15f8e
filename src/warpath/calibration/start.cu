// Short kernels over grids from one warp to eight CTAs an SM: what warps wait for as they begin and
// as they end. The reasons come from the profiler.
#include "common.cuh"

__global__ void empty() {}

// Reads a special register and a parameter, does nothing.
__global__ void compare(int *p) {
  if (threadIdx.x == 2000) *p = 1;
}

// Every warp stores at once: the end waits for the stores to drain.
__global__ void set(int *p) { p[threadIdx.x] = threadIdx.x + 1; }

__global__ void square(int *p, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = i * i;
}

__global__ void add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// Stores after a while: how much of a kernel's start is over by then, and what is left of the wait.
template <int Cycles>
__global__ void set_late(int *p) {
  long long start = clock64();
  while (clock64() - start < Cycles) {
  }
  p[threadIdx.x] = threadIdx.x + 1;
}

// The same wait with no store.
template <int Cycles>
__global__ void wait() {
  long long start = clock64();
  while (clock64() - start < Cycles) {
  }
}

struct Parameters {
  int v[200];
};

// A parameter in another line of constants than the first.
__global__ void far_parameter(__grid_constant__ const Parameters from, int *p) {
  p[threadIdx.x] = from.v[100];
}

// Parameters in four lines.
__global__ void far_parameters(__grid_constant__ const Parameters from, int *p) {
  p[threadIdx.x] = from.v[20] + from.v[60] + from.v[100] + from.v[140];
}

// A load, a barrier and a store; at most 256 threads.
__global__ void reverse(int *p) {
  __shared__ int held[256];
  int t = threadIdx.x;
  held[t] = p[t];
  __syncthreads();
  p[t] = held[255 - t];
}

__constant__ int table[64];

// Constants at an index of the lane.
__global__ void look_up(int *p) { p[threadIdx.x] = table[threadIdx.x & 3]; }

// Dependent instructions one after another, run once: code that is fetched as it runs.
template <int Count>
__global__ void straight(float *keep, float seed) {
  float value = seed;
#pragma unroll
  for (int i = 0; i < Count; i++)
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(value) : "f"(seed));
  sink(value, keep);
}

struct Shape {
  int ctas, threads;
};

int main() {
  int *p;
  float *a;
  CK(cudaMalloc(&p, 4 << 20));
  CK(cudaMalloc(&a, 16 << 20));
  CK(cudaMemset(p, 0, 4 << 20));
  CK(cudaMemset(a, 0, 16 << 20));
  const int n = 1 << 20;
  const Parameters parameters = {};
  const Shape shapes[] = {{1, 32},  {1, 64},   {1, 128},  {1, 256},   {1, 512},   {1, 1024},
                          {4, 256}, {33, 256}, {132, 32}, {132, 256}, {264, 256}, {1056, 256}};
  for (auto [ctas, threads] : shapes) {
    empty<<<ctas, threads>>>();
    compare<<<ctas, threads>>>(p);
    set<<<ctas, threads>>>(p);
    square<<<ctas, threads>>>(p, n);
    add<<<ctas, threads>>>(a, a + n, a + 2 * n, n);
    set_late<60><<<ctas, threads>>>(p);
    set_late<120><<<ctas, threads>>>(p);
    set_late<250><<<ctas, threads>>>(p);
    set_late<1000><<<ctas, threads>>>(p);
    wait<250><<<ctas, threads>>>();
    far_parameter<<<ctas, threads>>>(parameters, p);
    far_parameters<<<ctas, threads>>>(parameters, p);
    if (threads <= 256) reverse<<<ctas, threads>>>(p);
    look_up<<<ctas, threads>>>(p);
    straight<8><<<ctas, threads>>>(a, 1.0f);
    straight<24><<<ctas, threads>>>(a, 1.0f);
    straight<56><<<ctas, threads>>>(a, 1.0f);
    straight<120><<<ctas, threads>>>(a, 1.0f);
    straight<248><<<ctas, threads>>>(a, 1.0f);
    straight<504><<<ctas, threads>>>(a, 1.0f);
    CK(cudaDeviceSynchronize());
  }
  return 0;
}
