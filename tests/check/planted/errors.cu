// Errors that few programs see, one a run: each call's code is printed, as the program sees it.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>
#include <cuda_runtime.h>

// Atomics on local memory through a pointer of which the compiler cannot know where it points.
__global__ void atomic_on_local(int* out, int n) {
  int own[4] = {0, 1, 2, 3};
  int* p = n > 3 ? out : own + n;
  asm volatile("" : "+l"(p));
  out[threadIdx.x] = atomicAdd(p, 1);
}
__global__ void reduction_on_local(int* out, int n) {
  int own[4] = {0, 1, 2, 3};
  int* p = n > 3 ? out : own + n;
  asm volatile("" : "+l"(p));
  atomicAdd(p, 1);
  out[threadIdx.x] = own[n & 3];
}
__device__ int deeper(int n, volatile int* p) {
  volatile int frame[64];
  frame[n & 63] = n;
  return n == 0 ? *p : deeper(n - 1, p) + frame[n & 63];
}
__global__ void recursion(int* out, int n) { out[threadIdx.x] = deeper(n, out); }
// Instructions that are for global memory alone, given the generic address of local or of shared memory.
__global__ void global_only(int* out, char what, int shared) {
  __shared__ int theirs[32];
  int own[2] = {0, 1}, got = 0;
  theirs[threadIdx.x] = 0;
  __syncthreads();
  int* p = shared ? theirs : own;
  asm volatile("" : "+l"(p) : : "memory");
  if (what == 'a') asm volatile("atom.global.add.u32 %0, [%1], 1;" : "=r"(got) : "l"(p) : "memory");
  if (what == 'c') asm volatile("atom.global.cas.b32 %0, [%1], 0, 1;" : "=r"(got) : "l"(p) : "memory");
  if (what == 'r') asm volatile("red.global.add.u32 [%0], 1;" : : "l"(p) : "memory");
  if (what == 'l') asm volatile("ld.global.u32 %0, [%1];" : "=r"(got) : "l"(p) : "memory");
  if (what == 'n') asm volatile("ld.global.nc.u32 %0, [%1];" : "=r"(got) : "l"(p) : "memory");
  if (what == 's') asm volatile("st.global.u32 [%0], 1;" : : "l"(p) : "memory");
  out[threadIdx.x] = got + own[threadIdx.x & 1] + theirs[threadIdx.x];
}
void no_kernel(int*) {}

static void from_module(const char* path) {
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr memory;
  printf("load %d\n", int(cuModuleLoad(&module, path)));
  printf("function %d\n", int(cuModuleGetFunction(&kernel, module, "broken")));
  cuMemAlloc(&memory, 4096);
  void* arguments[] = {&memory};
  printf("launch %d\n", int(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr)));
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* kind = argv[1];
  const int number = atoi(argv[2]);
  int* out = nullptr;
  cudaMalloc(&out, 4096);
  cudaMemset(out, 0, 4096);
  if (!strcmp(kind, "atomic")) atomic_on_local<<<1, 32>>>(out, number);
  else if (!strcmp(kind, "reduction")) reduction_on_local<<<1, 32>>>(out, number);
  else if (!strcmp(kind, "recursion")) recursion<<<1, 32>>>(out, number);
  else if (!strncmp(kind, "global_", 7)) global_only<<<1, 32>>>(out, kind[7], number);
  else if (!strcmp(kind, "module")) from_module(argv[2]);
  else if (!strcmp(kind, "function")) {
    void* arguments[] = {&out};
    const void* function = number ? (const void*)recursion : (const void*)no_kernel;
    int deep = 1;
    void* both[] = {&out, &deep};
    printf("call %d\n", int(cudaLaunchKernel(function, dim3(1), dim3(32), number ? both : arguments, 0, nullptr)));
  } else return 2;
  printf("peek %d\n", int(cudaPeekAtLastError()));
  printf("get %d\n", int(cudaGetLastError()));
  printf("sync %d\n", int(cudaDeviceSynchronize()));
  printf("peek %d\n", int(cudaPeekAtLastError()));
  printf("get %d\n", int(cudaGetLastError()));
  printf("get %d\n", int(cudaGetLastError()));
  printf("free %d\n", int(cudaFree(out)));
}
