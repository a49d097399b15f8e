// Every family of the runtime API that ordinary programs use, each checking its own result. Prints what failed.
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>

static int failures = 0;
#define CHECK(x)                                                     \
  do {                                                               \
    if (!(x)) {                                                      \
      printf("line %d: %s (%s)\n", __LINE__, #x, cudaGetErrorName(cudaPeekAtLastError())); \
      failures++;                                                    \
    }                                                                \
  } while (0)
#define OK(x) CHECK((x) == cudaSuccess)

__device__ int table[16];
__constant__ int scale = 3;
__managed__ int counter = 5;
__managed__ double squares[100];

__global__ void add(int *p, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] += k * scale;
}

__global__ void __launch_bounds__(128) use_table(int *p) { p[threadIdx.x] = table[threadIdx.x & 15]; }

__global__ void dynamic(int *p) {
  extern __shared__ int s[];
  s[threadIdx.x + 16000] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[(threadIdx.x ^ 1) + 16000];
}

__global__ void count() {
  counter += table[0];
  squares[threadIdx.x] = threadIdx.x * threadIdx.x;
}

struct Wide {
  double a;
  char b[20];
  short c;
};

__global__ void wide(Wide w, int *p, char last) { *p = (int)w.a + w.b[19] + w.c + last; }

static void errors() {
  int *p;
  CHECK(cudaMalloc((void **)0, 4) == cudaErrorInvalidValue);
  CHECK(cudaPeekAtLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  CHECK(cudaMalloc(&p, size_t(1) << 50) == cudaErrorMemoryAllocation);
  CHECK(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"));
  CHECK(cudaStreamSynchronize((cudaStream_t)0x1234) == cudaErrorInvalidResourceHandle);
  add<<<1, 2048>>>(nullptr, 0, 0);
  CHECK(cudaGetLastError() != cudaSuccess);
  CHECK(cudaFree((void *)0x123456) == cudaErrorInvalidValue);
  CHECK(cudaMemcpy(&p, &p, 8, (cudaMemcpyKind)9) == cudaErrorInvalidMemcpyDirection);
  cudaGetLastError();
}

static void device() {
  int count = 0, value = 0, driver = 0, runtime = 0;
  cudaDeviceProp prop;
  OK(cudaGetDeviceCount(&count));
  CHECK(count == 1);
  OK(cudaGetDeviceProperties(&prop, 0));
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK(value == prop.multiProcessorCount && value > 0);
  CHECK(prop.warpSize == 32 && prop.maxThreadsPerBlock == 1024 && prop.maxGridSize[1] == 65535);
  const cudaChannelFormatDesc pair = cudaCreateChannelDesc(32, 16, 8, 0, cudaChannelFormatKindFloat);
  CHECK(pair.x == 32 && pair.y == 16 && pair.z == 8 && pair.w == 0 && pair.f == cudaChannelFormatKindFloat);
  OK(cudaDriverGetVersion(&driver));
  OK(cudaRuntimeGetVersion(&runtime));
  CHECK(driver >= 13000 && runtime >= 13000);
  size_t free_bytes, total, limit;
  OK(cudaMemGetInfo(&free_bytes, &total));
  CHECK(total == prop.totalGlobalMem && free_bytes <= total);
  OK(cudaDeviceSetLimit(cudaLimitStackSize, 2048));
  OK(cudaDeviceGetLimit(&limit, cudaLimitStackSize));
  CHECK(limit == 2048);
  int least, greatest;
  OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  CHECK(least == 0 && greatest < 0);
}

static void memory() {
  int *pinned, *managed, *dev;
  OK(cudaMallocHost(&pinned, 4096));
  OK(cudaMallocManaged(&managed, 4096));
  OK(cudaMalloc(&dev, 4096));
  for (int i = 0; i < 1024; i++) pinned[i] = managed[i] = i;
  add<<<4, 256>>>(managed, 1024, 1);
  add<<<4, 256>>>(pinned, 1024, 2);
  OK(cudaDeviceSynchronize());
  CHECK(managed[1000] == 1003 && pinned[1000] == 1006);
  cudaPointerAttributes at;
  OK(cudaPointerGetAttributes(&at, dev));
  CHECK(at.type == cudaMemoryTypeDevice && at.devicePointer == dev);
  OK(cudaPointerGetAttributes(&at, pinned + 1));
  CHECK(at.type == cudaMemoryTypeHost && at.hostPointer == pinned + 1);
  OK(cudaPointerGetAttributes(&at, managed));
  CHECK(at.type == cudaMemoryTypeManaged);
  OK(cudaPointerGetAttributes(&at, &at));
  CHECK(at.type == cudaMemoryTypeUnregistered);
  OK(cudaMemcpyAsync(dev, pinned, 4096, cudaMemcpyDefault, 0));
  OK(cudaMemset(dev, 0x11, 8));
  int back[3];
  OK(cudaMemcpy(back, dev, sizeof back, cudaMemcpyDefault));
  CHECK(back[0] == 0x11111111 && back[2] == 8);
  OK(cudaFreeHost(pinned));
  OK(cudaFree(managed));
  OK(cudaFree(dev));
  int *async_memory;
  cudaMemPool_t pool;
  unsigned long long used = 0;
  OK(cudaMallocAsync(&async_memory, 1 << 20, 0));
  OK(cudaDeviceGetDefaultMemPool(&pool, 0));
  OK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
  CHECK(used == 1 << 20);
  OK(cudaFreeAsync(async_memory, 0));
}

static void managed_variables() {
  CHECK(counter == 5 && squares[31] == 0);
  counter = 7;
  int start = 3;
  OK(cudaMemcpyToSymbol(table, &start, sizeof start));
  count<<<1, 32>>>();
  OK(cudaDeviceSynchronize());
  CHECK(counter == 10 && squares[31] == 961);
  void *at;
  size_t size;
  OK(cudaGetSymbolAddress(&at, counter));
  CHECK(at == &counter);
  OK(cudaGetSymbolSize(&size, squares));
  CHECK(size == sizeof squares);
  cudaPointerAttributes attributes;
  OK(cudaPointerGetAttributes(&attributes, squares));
  CHECK(attributes.type == cudaMemoryTypeManaged && attributes.devicePointer == squares);
}

// Memory of the program that is pinned afterwards can be copied, but has no address on the model GPU.
static void registered() {
  std::vector<int> memory(100000, 4), back(100000);
  size_t bytes = memory.size() * sizeof(int);
  int *p, *mapped;
  OK(cudaHostRegister(memory.data(), bytes, cudaHostRegisterMapped));
  int supported = -1;
  cudaDeviceProp properties;
  OK(cudaDeviceGetAttribute(&supported, cudaDevAttrHostRegisterSupported, 0));
  OK(cudaGetDeviceProperties(&properties, 0));
  CHECK(supported == 0 && properties.hostRegisterSupported == 0);  // kernels cannot reach it
  CHECK(cudaHostGetDevicePointer(&mapped, memory.data(), 0) == cudaErrorNotSupported);
  cudaGetLastError();
  OK(cudaMalloc(&p, bytes));
  OK(cudaMemcpyAsync(p, memory.data(), bytes, cudaMemcpyHostToDevice));
  OK(cudaMemcpy(back.data(), p, bytes, cudaMemcpyDeviceToHost));
  CHECK(back == memory);
  OK(cudaHostUnregister(memory.data()));
  CHECK(cudaHostUnregister(memory.data()) == cudaErrorHostMemoryNotRegistered);
  cudaGetLastError();
  OK(cudaFree(p));
}

// Work given to the stream before may use memory that is freed in stream order; the call does not wait for it.
static void freed_in_order() {
  cudaStream_t stream;
  int *p, *q, back[4];
  OK(cudaStreamCreate(&stream));
  OK(cudaMallocAsync(&p, 16, stream));
  OK(cudaMemsetAsync(p, 0, 16, stream));
  add<<<1, 32, 0, stream>>>(p, 4, 2);
  OK(cudaFreeAsync(p, stream));
  CHECK(cudaFreeAsync(p, stream) == cudaErrorInvalidValue);
  cudaGetLastError();
  OK(cudaMallocAsync(&q, 16, stream));
  OK(cudaMemsetAsync(q, 0, 16, stream));
  add<<<1, 32, 0, stream>>>(q, 4, 1);
  OK(cudaMemcpyAsync(back, q, 16, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(back[3] == 3);
  OK(cudaFreeAsync(q, stream));
  OK(cudaStreamDestroy(stream));
}

static void boxes() {
  char *p;
  size_t pitch;
  char host[6][10], back[6][10] = {};
  for (int i = 0; i < 60; i++) host[i / 10][i % 10] = (char)i;
  OK(cudaMallocPitch(&p, &pitch, 10, 6));
  CHECK(pitch >= 10 && pitch % 32 == 0);
  OK(cudaMemset2D(p, pitch, 0x7f, 10, 6));
  OK(cudaMemcpy2D(p + 1, pitch, &host[0][1], 10, 8, 6, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(back, 10, p, pitch, 10, 6, cudaMemcpyDeviceToHost));
  CHECK(back[3][0] == 0x7f && back[3][1] == 31 && back[5][8] == 58 && back[5][9] == 0x7f);
  OK(cudaFree(p));

  cudaPitchedPtr volume;
  OK(cudaMalloc3D(&volume, make_cudaExtent(8, 4, 3)));
  char in[3][4][8], out[3][4][8] = {};
  for (int i = 0; i < 96; i++) (&in[0][0][0])[i] = (char)i;
  OK(cudaMemset3D(volume, 1, make_cudaExtent(8, 4, 3)));
  cudaMemcpy3DParms to = {};
  to.srcPtr = make_cudaPitchedPtr(in, 8, 8, 4);
  to.dstPtr = volume;
  to.extent = make_cudaExtent(8, 4, 3);
  to.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&to));
  cudaMemcpy3DParms from = {};
  from.srcPtr = volume;
  from.dstPtr = make_cudaPitchedPtr(out, 8, 8, 4);
  from.srcPos = make_cudaPos(0, 1, 1);
  from.extent = make_cudaExtent(8, 2, 2);
  from.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&from));
  CHECK(out[0][0][0] == 40 && out[1][1][7] == 87 && out[0][2][0] == 0);
  OK(cudaFree(volume.ptr));
}

static void symbols() {
  int values[16], *dev, host[32];
  void *address;
  size_t size;
  for (int i = 0; i < 16; i++) values[i] = 100 + i;
  OK(cudaMemcpyToSymbol(table, values, sizeof values));
  OK(cudaMemcpyToSymbol(table, &values[15], 4, 8));
  OK(cudaGetSymbolAddress(&address, table));
  OK(cudaGetSymbolSize(&size, table));
  CHECK(size == 64);
  OK(cudaMalloc(&dev, 128));
  use_table<<<1, 32>>>(dev);
  OK(cudaMemcpy(host, dev, 128, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 100 && host[2] == 115 && host[17] == 101);
  OK(cudaMemcpyFromSymbol(values, table, 8, 56));
  CHECK(values[0] == 114);
  CHECK(cudaMemcpyToSymbol(table, values, 64, 4) == cudaErrorInvalidValue);
  int ten = 10;
  OK(cudaMemcpyToSymbol(scale, &ten, 4));
  OK(cudaMemset(dev, 0, 128));
  add<<<1, 32>>>(dev, 32, 5);
  OK(cudaMemcpy(host, dev, 4, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 50);
  ten = 3;
  OK(cudaMemcpyToSymbol(scale, &ten, 4));
  cudaGetLastError();
  OK(cudaFree(dev));
}

static void functions() {
  cudaFuncAttributes at;
  OK(cudaFuncGetAttributes(&at, use_table));
  CHECK(at.maxThreadsPerBlock == 128 && at.numRegs > 0 && at.binaryVersion >= 75);
  int blocks = 0, grid = 0, block = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 256, 0));
  CHECK(blocks >= 4);
  OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, add));
  CHECK(block >= 256 && grid > 0);
  size_t room = 0;
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&room, add, 2, 256));
  CHECK(room > 16384);
  int *p, host[64];
  OK(cudaMalloc(&p, 256));
  for (int i = 0; i < 64; i++) host[i] = i;
  OK(cudaMemcpy(p, host, 256, cudaMemcpyHostToDevice));
  dynamic<<<1, 64, 65000>>>(p);
  CHECK(cudaGetLastError() == cudaErrorInvalidValue);
  OK(cudaFuncSetAttribute(dynamic, cudaFuncAttributeMaxDynamicSharedMemorySize, 65000));
  dynamic<<<1, 64, 65000>>>(p);
  OK(cudaGetLastError());
  OK(cudaMemcpy(host, p, 256, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 1 && host[63] == 62);

  Wide w = {40.5, {}, 1000};
  w.b[19] = 7;
  wide<<<1, 1>>>(w, p, 'A');
  OK(cudaMemcpy(host, p, 4, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 40 + 7 + 1000 + 'A');

  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 1;
  char last = 'B';
  OK(cudaLaunchKernelEx(&config, wide, w, p, last));
  OK(cudaMemcpy(host, p, 4, cudaMemcpyDeviceToHost));
  CHECK(host[0] == 40 + 7 + 1000 + 'B');
  OK(cudaFree(p));
}

static void CUDART_CB note(void *list) { ((std::vector<int> *)list)->push_back(1); }
static void CUDART_CB called(cudaStream_t, cudaError_t status, void *list) {
  ((std::vector<int> *)list)->push_back(status == cudaSuccess ? 2 : -2);
}

static void streams() {
  cudaStream_t one, two;
  cudaEvent_t start, stop;
  int *p, host = 0;
  std::vector<int> order;
  OK(cudaStreamCreate(&one));
  OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreateWithFlags(&stop, cudaEventDefault));
  OK(cudaMalloc(&p, 4));
  OK(cudaMemsetAsync(p, 0, 4, one));
  OK(cudaEventRecord(start, one));
  OK(cudaStreamWaitEvent(two, start, 0));
  add<<<1, 1, 0, two>>>(p, 1, 4);
  OK(cudaLaunchHostFunc(two, note, &order));
  OK(cudaStreamAddCallback(two, called, &order, 0));
  OK(cudaEventRecord(stop, two));
  OK(cudaEventSynchronize(stop));
  CHECK(order.size() == 2 && order[0] == 1 && order[1] == 2);
  OK(cudaEventQuery(stop));
  OK(cudaStreamQuery(two));
  float ms = -1;
  OK(cudaEventElapsedTime(&ms, start, stop));
  CHECK(ms >= 0);
  OK(cudaMemcpyAsync(&host, p, 4, cudaMemcpyDeviceToHost, two));
  OK(cudaStreamSynchronize(two));
  CHECK(host == 12);
  unsigned flags = 9;
  OK(cudaStreamGetFlags(two, &flags));
  CHECK(flags == cudaStreamNonBlocking);
  OK(cudaStreamDestroy(one));
  CHECK(cudaStreamSynchronize(one) == cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  OK(cudaStreamDestroy(two));
  OK(cudaEventDestroy(start));
  OK(cudaEventDestroy(stop));
  OK(cudaFree(p));
}

static void graphs() {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int *p, host[4] = {1, 2, 3, 4}, back[4];
  size_t count = 0;
  OK(cudaStreamCreate(&stream));
  OK(cudaMalloc(&p, 16));
  OK(cudaMemcpy(p, host, 16, cudaMemcpyHostToDevice));
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  add<<<1, 4, 0, stream>>>(p, 4, 1);
  add<<<1, 4, 0, stream>>>(p, 4, 1);
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 2);
  OK(cudaGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; i++) OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaMemcpy(back, p, 16, cudaMemcpyDeviceToHost));
  CHECK(back[3] == 4 + 18);

  cudaGraph_t built;
  cudaGraphNode_t zero, kernel, copy, host_node;
  std::vector<int> order;
  OK(cudaGraphCreate(&built, 0));
  cudaMemsetParams fill = {};
  fill.dst = p;
  fill.elementSize = 4;
  fill.value = 7;
  fill.width = 4;
  fill.height = 1;
  OK(cudaGraphAddMemsetNode(&zero, built, nullptr, 0, &fill));
  int n = 4, k = 2;
  void *arguments[] = {&p, &n, &k};
  cudaKernelNodeParams launch = {};
  launch.func = (void *)add;
  launch.gridDim = 1;
  launch.blockDim = 4;
  launch.kernelParams = arguments;
  OK(cudaGraphAddKernelNode(&kernel, built, &zero, 1, &launch));
  OK(cudaGraphAddMemcpyNode1D(&copy, built, &kernel, 1, back, p, 16, cudaMemcpyDeviceToHost));
  cudaHostNodeParams call = {note, &order};
  OK(cudaGraphAddHostNode(&host_node, built, &copy, 1, &call));
  cudaGraphExec_t second;
  OK(cudaGraphInstantiate(&second, built, 0));
  OK(cudaGraphLaunch(second, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(back[0] == 13 && order.size() == 1);
  k = 5;
  OK(cudaGraphExecKernelNodeSetParams(second, kernel, &launch));
  OK(cudaGraphLaunch(second, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(back[0] == 22);
  cudaGraphNodeType type;
  OK(cudaGraphNodeGetType(kernel, &type));
  CHECK(type == cudaGraphNodeTypeKernel);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(built));
  OK(cudaGraphDestroy(graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaFree(p));
}

static void driver_entry() {
  CUresult (*get)(int *) = nullptr;
  cudaDriverEntryPointQueryResult found;
  int version = 0;
  OK(cudaGetDriverEntryPointByVersion("cuDriverGetVersion", (void **)&get, 12000, cudaEnableDefault, &found));
  CHECK(found == cudaDriverEntryPointSuccess && get && get(&version) == CUDA_SUCCESS && version >= 13000);
}

static void reset() {
  int *p, host = 0;
  OK(cudaMalloc(&p, 4));
  OK(cudaDeviceReset());
  OK(cudaMalloc(&p, 4));
  OK(cudaMemset(p, 0, 4));
  add<<<1, 1>>>(p, 1, 1);
  OK(cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost));
  CHECK(host == 3);
}

int main() {
  errors();
  device();
  memory();
  managed_variables();
  registered();
  freed_in_order();
  boxes();
  symbols();
  functions();
  streams();
  graphs();
  driver_entry();
  reset();
  printf("%d failures\n", failures);
  return failures != 0;
}
