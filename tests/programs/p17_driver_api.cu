// The driver API beside the runtime: context, module from an embedded PTX text, cuLaunchKernel, cuModuleGetGlobal.
#include <cstdio>
#include <cuda.h>

static const char *ptx = R"(
.version 7.5
.target sm_75
.address_size 64
.visible .global .align 4 .u32 bias = 5;
.visible .entry scale(.param .u64 p, .param .u32 k) {
  .reg .b32 %r<6>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [k];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd3, %rd1, %rd2;
  ld.global.u32 %r3, [bias];
  mad.lo.u32 %r4, %r2, %r1, %r3;
  st.global.u32 [%rd3], %r4;
  ret;
}
)";

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction scale;
  CUdeviceptr out, bias;
  size_t size = 0;
  char name[128] = "";
  int major = 0, got[64], regs = 0, bad = 0;
  CUresult r = cuInit(0);
  if (r == CUDA_SUCCESS) r = cuDeviceGet(&device, 0);
  cuDeviceGetName(name, sizeof name, device);
  cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  if (r == CUDA_SUCCESS) r = cuDevicePrimaryCtxRetain(&context, device);
  if (r == CUDA_SUCCESS) r = cuCtxSetCurrent(context);
  if (r == CUDA_SUCCESS) r = cuModuleLoadData(&module, ptx);
  if (r == CUDA_SUCCESS) r = cuModuleGetFunction(&scale, module, "scale");
  if (r == CUDA_SUCCESS) r = cuModuleGetGlobal(&bias, &size, module, "bias");
  int eleven = 11, k = 3;
  if (r == CUDA_SUCCESS) r = cuMemcpyHtoD(bias, &eleven, sizeof eleven);
  if (r == CUDA_SUCCESS) r = cuMemAlloc(&out, sizeof got);
  cuFuncGetAttribute(&regs, CU_FUNC_ATTRIBUTE_NUM_REGS, scale);
  void *args[] = {&out, &k};
  if (r == CUDA_SUCCESS) r = cuLaunchKernel(scale, 1, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr);
  if (r == CUDA_SUCCESS) r = cuMemcpyDtoH(got, out, sizeof got);
  CUfunction missing;
  CUresult absent = cuModuleGetFunction(&missing, module, "nothing");
  const char *text = "", *label = "";
  cuGetErrorName(absent, &label);
  cuGetErrorString(r, &text);
  for (int i = 0; i < 64; i++) bad += got[i] != 3 * i + 11;
  printf("%s size=%zu regs %s absent=%s bad=%d %s\n", text, size, regs > 0 && major >= 7 ? "ok" : "bad", label, bad,
         r != CUDA_SUCCESS || bad ? "FAIL" : "PASS");
  return r != CUDA_SUCCESS || bad;
}
