// A stand-in for the driver library (libcuda.so.1): modules, functions and launches, without a GPU. Function handles are
// addresses of their names.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t u64;

int cuModuleLoadData(u64* module, const void* image) { return *module = (u64)(uintptr_t)image, 0; }
int cuLibraryLoadData(u64* library, const void* image) { return *library = (u64)(uintptr_t)image, 0; }

static char names[4][32];

static int give(u64* handle, int slot, const char* name) {
  if (strcmp(name, "missing") == 0) return 500;
  strcpy(names[slot], name);
  *handle = (u64)(uintptr_t)names[slot];
  return 0;
}

int cuModuleGetFunction(u64* function, u64 module, const char* name) { return give(function, module ? 0 : 3, name); }
int cuLibraryGetKernel(u64* kernel, u64 library, const char* name) { return give(kernel, library ? 1 : 3, name); }
int cuKernelGetFunction(u64* function, u64 kernel) {
  strcpy(names[2], (const char*)(uintptr_t)kernel);
  return *function = (u64)(uintptr_t)names[2], 0;
}
int cuLibraryEnumerateKernels(u64* kernels, unsigned count, u64 library) {
  (void)library;
  for (unsigned i = 0; i < count; i++) give(&kernels[i], 3, "listed");
  return 0;
}
int cuKernelGetName(const char** name, u64 kernel) { return *name = (const char*)(uintptr_t)kernel, 0; }

static int parameter(size_t index, size_t first, size_t* offset, size_t* size) {
  if (index > 1) return 1;
  *offset = index ? 8 : 0;
  *size = index ? 4 : first;
  return 0;
}
int cuFuncGetParamInfo(u64 f, size_t i, size_t* offset, size_t* size) { return (void)f, parameter(i, 8, offset, size); }
int cuKernelGetParamInfo(u64 k, size_t i, size_t* offset, size_t* size) { return (void)k, parameter(i, 6, offset, size); }

// The sum of what does not fit into registers says that they arrived.
int cuLaunchKernel(u64 f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, u64 stream,
                   void** params, void** extra) {
  u64 sum = gx + gy + gz + bx + by + bz + shared + stream + (u64)(uintptr_t)params + (u64)(uintptr_t)extra;
  return f != 0 && sum == 55 ? 0 : 1;
}

int cuGetProcAddress_v2(const char* name, void** found, int version, u64 flags, int* status) {
  (void)version, (void)flags, (void)status;
  return *found = strcmp(name, "cuLaunchKernel") == 0 ? (void*)cuLaunchKernel : NULL, *found == NULL;
}
