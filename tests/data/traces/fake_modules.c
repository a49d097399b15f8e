// Loads modules and launches functions by fake_cuda.c as programs do by a driver; prints "good" when every call did what it
// should.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;
extern int cuModuleLoadData(u64*, const void*), cuLibraryLoadData(u64*, const void*);
extern int cuModuleGetFunction(u64*, u64, const char*), cuLibraryGetKernel(u64*, u64, const char*);
extern int cuKernelGetFunction(u64*, u64), cuLibraryEnumerateKernels(u64*, unsigned, u64);
extern int cuGetProcAddress_v2(const char*, void**, int, u64, int*);

// A fat binary of 24 bytes of content, and what nvcc wraps around one.
static const struct {
  uint32_t magic;
  uint16_t version, header;
  u64 size;
  char content[24];
} image = {0xba55ed50u, 1, 16, 24, "in the program's file"};
static const struct {
  uint32_t magic, version;
  const void* data;
  void* none;
} wrapper = {0x466243b1u, 1, &image, NULL};

int main(void) {
  u64 module, library, function, kernel, same, listed;
  char* heap = malloc(sizeof image);
  memcpy(heap, &image, sizeof image);
  memcpy(heap + 16, "on the heap", 12);
  int (*launch)(u64, int, int, int, int, int, int, int, u64, void*, void*);
  int bad = cuModuleLoadData(&module, heap) | cuLibraryLoadData(&library, &wrapper);
  bad |= cuModuleGetFunction(&function, module, "_Z5firstPfi") | cuLibraryGetKernel(&kernel, library, "second");
  bad |= cuModuleGetFunction(&same, module, "missing") != 500;
  bad |= cuKernelGetFunction(&same, kernel) | cuLibraryEnumerateKernels(&listed, 1, library);
  bad |= cuGetProcAddress_v2("cuLaunchKernel", (void**)&launch, 13000, 0, NULL);
  u64 each[] = {function, function, kernel, same, listed};
  for (int i = 0; i < 5; i++) bad |= launch(each[i], 1, 2, 3, 4, 5, 6, 7, 8, (void*)9, (void*)10);
  puts(bad ? "bad" : "good");
  return bad;
}
