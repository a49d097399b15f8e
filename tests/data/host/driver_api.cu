// The driver API's forms: contexts, modules from file and memory, launches, copies, fills, streams, events, graphs.
#include <cstdio>
#include <cstring>
#include <vector>

#include <cuda.h>

static int failures = 0;
#define CHECK(x)                               \
  do {                                         \
    if (!(x)) {                                \
      printf("line %d: %s\n", __LINE__, #x);   \
      failures++;                              \
    }                                          \
  } while (0)
#define OK(x)                                                \
  do {                                                       \
    CUresult r_ = (x);                                       \
    if (r_ != CUDA_SUCCESS) {                                \
      const char *n_ = "?";                                  \
      cuGetErrorName(r_, &n_);                               \
      printf("line %d: %s gives %s\n", __LINE__, #x, n_);    \
      failures++;                                            \
    }                                                        \
  } while (0)

static const char *ptx = R"(
.version 7.5
.target sm_75
.address_size 64
.visible .global .align 4 .b32 bias[4] = {10, 20, 30, 40};
.visible .entry scale(.param .u64 p, .param .u32 k) {
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [k];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [bias];
  ld.global.u32 %r4, [%rd3];
  mad.lo.u32 %r4, %r4, %r1, %r3;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

static size_t CUDA_CB shared_by_size(int threads) { return (size_t)threads * 64; }
static void CUDA_CB note(void *list) { ((std::vector<int> *)list)->push_back(1); }

int main(int argc, char **argv) {
  CUdevice device;
  CUcontext context, current = nullptr, primary;
  CUmodule module, from_file;
  CUfunction scale, none;
  CUdeviceptr out, bias;
  size_t size = 0;
  CHECK(cuMemAlloc(&out, 4) != CUDA_SUCCESS);  // no context yet
  OK(cuInit(0));
  OK(cuDeviceGet(&device, 0));
  CHECK(cuDeviceGet(&device, 1) == CUDA_ERROR_INVALID_DEVICE);
  OK(cuCtxCreate(&context, nullptr, 0, device));
  OK(cuCtxGetCurrent(&current));
  CHECK(current == context);
  OK(cuDevicePrimaryCtxRetain(&primary, device));
  OK(cuCtxPushCurrent(primary));
  OK(cuCtxPopCurrent(&current));
  CHECK(current == primary);
  CHECK(cuMemAlloc(&out, 0) == CUDA_ERROR_INVALID_VALUE);

  OK(cuModuleLoadData(&module, ptx));
  if (argc > 1) {
    FILE *file = fopen(argv[1], "w");
    fputs(ptx, file);
    fclose(file);
    OK(cuModuleLoad(&from_file, argv[1]));
    OK(cuModuleUnload(from_file));
  }
  CHECK(cuModuleLoad(&from_file, "/does/not/exist") == CUDA_ERROR_FILE_NOT_FOUND);
  CHECK(cuModuleLoadData(&from_file, "not a module") != CUDA_SUCCESS);
  OK(cuModuleGetFunction(&scale, module, "scale"));
  CHECK(cuModuleGetFunction(&none, module, "absent") == CUDA_ERROR_NOT_FOUND);
  OK(cuModuleGetGlobal(&bias, &size, module, "bias"));
  CHECK(size == 16);

  int host[32], registers = 0;
  OK(cuMemAlloc(&out, 128));
  OK(cuMemsetD32(out, 3, 32));
  int k = 4;
  void *arguments[] = {&out, &k};
  OK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  OK(cuMemcpyDtoH(host, out, 128));
  CHECK(host[0] == 22 && host[31] == 22);
  struct {
    CUdeviceptr p;
    int k;
  } block = {out, 2};
  size_t block_size = 12;
  void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE, &block_size,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(scale, 1, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
  CUlaunchConfig config = {};
  config.gridDimX = config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 16;
  OK(cuLaunchKernelEx(&config, scale, arguments, nullptr));
  OK(cuMemcpyDtoH(host, out, 128));
  CHECK(host[0] == 226 && host[16] == 54);
  OK(cuFuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, scale));
  CHECK(registers > 0);
  CHECK(cuLaunchKernel(scale, 1, 1, 1, 0, 1, 1, 0, nullptr, arguments, nullptr) == CUDA_ERROR_INVALID_VALUE);

  OK(cuMemsetD16(out, 0x1234, 4));
  OK(cuMemsetD8(out + 2, 0x56, 1));
  OK(cuMemcpyDtoH(host, out, 8));
  CHECK(host[0] == 0x12561234 && host[1] == 0x12341234);
  CUDA_MEMCPY2D box = {};
  char in[12] = "abcdefghijk", back[12] = {};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = in;
  box.srcPitch = 4;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = out;
  box.dstPitch = 32;
  box.WidthInBytes = 3;
  box.Height = 3;
  OK(cuMemcpy2D(&box));
  OK(cuMemcpyDtoH(back, out + 64, 3));
  CHECK(!strcmp(back, "ijk"));

  int grid = 0, threads = 0, blocks = 0;
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &threads, scale, shared_by_size, 0, 0));
  CHECK(threads > 0 && threads * 64 <= 48 * 1024 && grid > 0);
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 128, 0));
  CHECK(blocks > 0);

  CUstream stream;
  CUevent event;
  std::vector<int> order;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  OK(cuMemcpyHtoDAsync(out, in, 12, stream));
  OK(cuLaunchHostFunc(stream, note, &order));
  OK(cuEventRecord(event, stream));
  OK(cuEventSynchronize(event));
  CHECK(order.size() == 1 && cuEventQuery(event) == CUDA_SUCCESS);

  CUgraph graph;
  CUgraphNode fill_node, launch_node;
  CUgraphExec exec;
  OK(cuGraphCreate(&graph, 0));
  CUDA_MEMSET_NODE_PARAMS fill = {};
  fill.dst = out;
  fill.elementSize = 4;
  fill.value = 1;
  fill.width = 32;
  fill.height = 1;
  OK(cuGraphAddMemsetNode(&fill_node, graph, nullptr, 0, &fill, context));
  CUDA_KERNEL_NODE_PARAMS launch = {};
  launch.func = scale;
  launch.gridDimX = launch.gridDimY = launch.gridDimZ = launch.blockDimY = launch.blockDimZ = 1;
  launch.blockDimX = 32;
  launch.kernelParams = arguments;
  OK(cuGraphAddKernelNode(&launch_node, graph, &fill_node, 1, &launch));
  OK(cuGraphInstantiate(&exec, graph, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyDtoH(host, out, 128));
  CHECK(host[7] == 14);

  CUresult (*alloc)(CUdeviceptr *, size_t) = nullptr;
  CUdriverProcAddressQueryResult found;
  OK(cuGetProcAddress("cuMemAlloc", (void **)&alloc, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
  CHECK(alloc == cuMemAlloc && found == CU_GET_PROC_ADDRESS_SUCCESS);
  OK(cuGetProcAddress("cuNothing", (void **)&alloc, 12000, CU_GET_PROC_ADDRESS_DEFAULT, &found));
  CHECK(!alloc && found == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);

  CUmemorytype type;
  OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, out));
  CHECK(type == CU_MEMORYTYPE_DEVICE);
  CUdeviceptr base;
  OK(cuMemGetAddressRange(&base, &size, out + 5));
  CHECK(base == out && size == 128);
  OK(cuMemFree(out));
  CHECK(cuMemFree(out) == CUDA_ERROR_INVALID_VALUE);
  OK(cuModuleUnload(module));
  OK(cuCtxDestroy(context));
  printf("%d failures\n", failures);
  return failures != 0;
}
