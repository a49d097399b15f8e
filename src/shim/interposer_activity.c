// `trace --measure`: kernel and copy times from CUPTI's activity records. The driver loads this library
// itself, through its documented hook (CUDA_INJECTION64_PATH, InitializeInjection), so that CUPTI starts
// before the first context.

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interposer.h"

enum { kCopyActivity = 1, kSetActivity = 2, kKernelActivity = 10 };
enum { kBufferBytes = 1 << 20, kFlushForced = 1 };
enum {
  kNameOffset = 104
};  // offset of the kernel's name in all CUpti_ActivityKernel structures since version 9

static int (*next_record)(uint8_t*, size_t, uint8_t**);
static int (*flush_all)(uint32_t);

// The part of a record that all versions of CUPTI for CUDA 12 and 13 share, as it is in the log.
static void log_record(const uint8_t* record) {
  uint32_t kind;
  memcpy(&kind, record, sizeof kind);
  if (kind == kKernelActivity) {
    const char* name;
    memcpy(&name, record + kNameOffset, sizeof name);
    struct iovec pieces[] = {{(void*)record, kNameOffset}, {(void*)name, name != NULL ? strlen(name) : 0}};
    wpt_write(kActivity, pieces, 2);
  } else if (kind == kCopyActivity || kind == kSetActivity) {
    wpt_put(kActivity, record, 64);
  }
}

static void want_buffer(uint8_t** buffer, size_t* size, size_t* most) {
  *buffer = aligned_alloc(8, kBufferBytes);
  *size = *buffer != NULL ? kBufferBytes : 0;
  *most = 0;
}

static void take_buffer(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) {
  (void)context;
  (void)stream;
  (void)size;
  uint8_t* record = NULL;
  while (next_record(buffer, valid, &record) == 0) log_record(record);
  free(buffer);
}

static void flush(void) { flush_all(kFlushForced); }

WPT_PUBLIC int InitializeInjection(void) {
  const char* path = getenv("WARPATH_TRACE_CUPTI");
  if (path == NULL || !wpt_options.on) return 1;
  void* cupti = dlopen(path, RTLD_NOW);
  if (cupti == NULL) {
    wpt_note("kernel times are not available: libcupti cannot be loaded");
    return 1;
  }
  int (*enable)(uint32_t) = (int (*)(uint32_t))wpt_lookup(cupti, "cuptiActivityEnable");
  int (*register_both)(void*, void*) =
      (int (*)(void*, void*))wpt_lookup(cupti, "cuptiActivityRegisterCallbacks");
  next_record = (int (*)(uint8_t*, size_t, uint8_t**))wpt_lookup(cupti, "cuptiActivityGetNextRecord");
  flush_all = (int (*)(uint32_t))wpt_lookup(cupti, "cuptiActivityFlushAll");
  if (enable == NULL || register_both == NULL || next_record == NULL || flush_all == NULL ||
      register_both((void*)want_buffer, (void*)take_buffer) != 0 || enable(kKernelActivity) != 0) {
    wpt_note("kernel times are not available: CUPTI refuses to record activity");
    return 1;
  }
  enable(kCopyActivity);
  enable(kSetActivity);
  atexit(flush);
  return 1;
}
