// How programs find driver functions: dlsym on the driver library, and cuGetProcAddress. What they get is a
// thunk.

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "interposer.h"

typedef void* (*lookup)(void*, const char*);
typedef int (*get_address)(const char*, void**, int, uint64_t, int*);

// Our own dlsym must not be found: ask for the real one by version.
__attribute__((visibility("hidden"))) lookup wpt_real_dlsym(void) {
  static lookup real;
  if (real == NULL) {
    void* found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (found == NULL) found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    real = (lookup)found;
  }
  return real;
}

void* wpt_lookup(void* library, const char* name) { return wpt_real_dlsym()(library, name); }

static get_address real_get_address;

static bool is_get_address(const char* name) {
  return strcmp(name, "cuGetProcAddress") == 0 || strcmp(name, "cuGetProcAddress_v2") == 0;
}

static int answer(get_address real, const char* name, void** found, int version, uint64_t flags,
                  int* status) {
  int result = real(name, found, version, flags, status);
  if (result != 0 || found == NULL || *found == NULL) return result;
  if (is_get_address(name)) {
    real_get_address = (get_address)*found;
    *found = (void*)cuGetProcAddress_v2;
  } else {
    *found = wpt_wrap_call(name, *found);
  }
  return result;
}

// One definition serves both: the older function has no fifth argument and does not look at it.
WPT_PUBLIC int cuGetProcAddress_v2(const char* name, void** found, int version, uint64_t flags, int* status) {
  get_address real = real_get_address;
  if (real == NULL) real = (get_address)wpt_next("cuGetProcAddress_v2");
  if (real == NULL) return 3;  // CUDA_ERROR_NOT_INITIALIZED: the driver library is not there
  return answer(real, name, found, version, flags, status);
}

WPT_PUBLIC int cuGetProcAddress(const char* name, void** found, int version, uint64_t flags) {
  int status;
  get_address real = (get_address)wpt_next("cuGetProcAddress");
  if (real == NULL) return 3;
  return answer(real, name, found, version, flags, &status);
}

// dlsym with a library: the assembly in interposer_calls.c leaves everything else to the real one.
__attribute__((visibility("hidden"))) void* wpt_dlsym(void* library, const char* name) {
  void* found = wpt_lookup(library, name);
  if (found == NULL || !wpt_options.on || !wpt_options.calls || strncmp(name, "cu", 2) != 0) return found;
  Dl_info info;
  if (dladdr(found, &info) == 0 || info.dli_fname == NULL || strstr(info.dli_fname, "libcuda.so") == NULL) {
    return found;
  }
  if (!is_get_address(name)) return wpt_wrap_call(name, found);
  real_get_address = (get_address)found;
  return (void*)cuGetProcAddress_v2;
}
