// The recorder that `warpath trace` preloads: it notes what a CUDA program says to the driver and to the GPU,
// as a binary log that src/warpath/capture/log.py reads. It decodes only what the doorbell trap needs to
// know.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define WPT_PUBLIC __attribute__((visibility("default")))

enum { kTraceVersion = 1, kChunk = 128 << 10 };  // the file's version; most bytes of memory in one record

// Kinds of records. Every record is a `struct record` and `size` bytes; all numbers little-endian.
enum kind {
  kProcess = 1,
  kOpen = 2,
  kClose = 3,
  kDup = 4,
  kIoctl = 5,
  kIoctlDone = 6,
  kMmap = 7,
  kMunmap = 8,
  kRegion = 9,
  kRing = 10,
  kMemory = 11,
  kRung = 12,
  kDoorbellRead = 13,
  kName = 14,
  kCall = 15,
  kNote = 16,
  kExit = 17,
  kActivity = 18,
  // 19: facts, which `warpath trace` itself adds
  kFunction = 20,
  kParameters = 21,
  kImage = 22,
};

// What the file descriptor of a device file is for.
enum device { kNoDevice = 0, kControl = 1, kGpu = 2, kUvm = 3, kOtherDevice = 4, kDriverFile = 5 };

// Why memory is in the log.
enum why { kRingEntries = 1, kPushbuffer = 2, kCopySource = 3, kImageBytes = 4 };

// Whether memory could be read.
enum { kReadable = 0, kUnreadable = 1, kAssumedSize = 2, kCut = 3 };

struct record {
  uint16_t kind;
  uint16_t flags;
  uint32_t size;     // of what follows
  uint64_t time_ns;  // CLOCK_MONOTONIC
  uint32_t pid;
  uint32_t tid;
};

struct options {
  bool on;  // a log is open
  bool doorbell;
  bool memory;
  bool calls;
  bool images;        // store what modules are loaded from
  bool wide_channel;  // driver branch 610 and later: a handle precedes hUserdMemory
};

extern struct options wpt_options;

// --- interposer_log.c -------------------------------------------------------------------------------------
uint64_t wpt_now(void);

// Appends one record made of `count` pieces; whole or, when the file system refuses, never again.
void wpt_write(enum kind kind, const struct iovec* pieces, int count);
void wpt_put(enum kind kind, const void* data, size_t size);
void wpt_note(const char* text);
void wpt_read_options(void);
void wpt_log_process(bool forked);
void wpt_log_exit(void);

// Whether the recorder itself uses this descriptor, so that the program must not close it.
bool wpt_own_fd(int fd);
bool wpt_move_fd(int fd);

// A copy of memory that may not be readable: `bytes` of `asked` at `data`, valid until wpt_release.
struct copy {
  int slot;  // -1: none was free
  size_t bytes;
  const uint8_t* data;
};

struct copy wpt_copy(uint64_t address, size_t size);
void wpt_release(struct copy copy);
bool wpt_peek(void* to, uint64_t address, size_t size);

// --- interposer_rm.c: what the doorbell trap has to know of the resource manager
// --------------------------------
struct channel {
  uint32_t client, handle;
  uint64_t ring;  // address of entry 0
  uint32_t entries;
  uint32_t userd_memory;
  uint64_t userd_offset;
  uint32_t token;
  bool has_token;
  uint32_t put;  // entries before this one have been seen
  // The little decoder that finds what copies read (--with-memory).
  uint16_t bound[8];
  uint32_t left, method;
  uint8_t subchannel, step;
  bool once;
  uint64_t copy_from;
  uint32_t copy_pitch, copy_length, copy_lines;
};

void wpt_rm_done(uint32_t number, uint64_t structure, size_t size);

// The handle that a mapping of `fd` is for, or 0; and remembers where the mapping went.
uint32_t wpt_rm_mapped(int fd, uint64_t address, size_t length, bool* usermode);
void wpt_rm_forked(void);
struct channel* wpt_channel_of(uint32_t token);
uint64_t wpt_userd_of(const struct channel* channel);

// --- interposer_trap.c ------------------------------------------------------------------------------------
// Moves a doorbell mapping away and makes its address unreadable. False when that failed: it is then as
// before.
bool wpt_trap(void* address, size_t length, uint32_t handle);
void wpt_trap_forked(void);
void wpt_untrap(void* address, size_t length);

// --- interposer_ring.c ------------------------------------------------------------------------------------
// Records what a doorbell announces, before the GPU can see it. Returns the ring's number.
uint64_t wpt_ring(uint32_t region, uint32_t offset, uint32_t value);
void wpt_rung(uint64_t number, uint64_t since_ns);

// --- interposer_functions.c
// ------------------------------------------------------------------------------------------
// What a driver API call says of kernels and modules.
enum role {
  kNoRole,
  kGetsFunction,
  kGetsKernel,
  kGetsSame,
  kListsFunctions,
  kListsKernels,
  kLaunches,
  kLaunchesSecond,
  kLoadsImage,
  kLoadsFile,
};
enum { kArguments = 3 };  // that are looked at

enum role wpt_role_of(const char* name);
uint64_t wpt_launched(enum role role, const uint64_t* arguments);  // the function a launch names, else 0
void wpt_returned(enum role role, const uint64_t* arguments);      // a call that succeeded

// --- interposer.c, interposer_calls.c, interposer_lookup.c
// -----------------------------------------------------------------------
void* wpt_next(const char* name);  // the next definition of a libc function
int cuGetProcAddress_v2(const char* name, void** found, int version, uint64_t flags, int* status);
void* wpt_lookup(void* library, const char* name);  // the real dlsym
void wpt_calls_forked(void);
void* wpt_wrap_call(const char* name, void* target);
