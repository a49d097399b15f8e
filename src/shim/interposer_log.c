// The log: one file for all processes of a run, each record one append, so that a crash loses nothing before
// it.

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "interposer.h"

enum { kSlots = 64, kHighFd = 900, kMostPieces = 12 };

struct options wpt_options;

static atomic_int log_fd = -1;
static int bounce_fd = -1;
static uint8_t* bounce;
static _Atomic uint64_t busy_slots;
static _Atomic uint64_t records;
static bool filtered;  // by seccomp, when the process began

uint64_t wpt_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void wpt_write(enum kind kind, const struct iovec* pieces, int count) {
  int fd = atomic_load(&log_fd);
  if (fd < 0) return;
  int saved = errno;
  struct record head = {.kind = (uint16_t)kind, .time_ns = wpt_now(), .pid = (uint32_t)getpid()};
  head.tid = (uint32_t)syscall(SYS_gettid);
  struct iovec all[kMostPieces + 1] = {{&head, sizeof head}};
  size_t size = 0;
  for (int i = 0; i < count; i++) {
    all[i + 1] = pieces[i];
    size += pieces[i].iov_len;
  }
  head.size = (uint32_t)size;
  // A record that is cut short would make all later ones unreadable, so it is the last.
  if (writev(fd, all, count + 1) != (ssize_t)(sizeof head + size)) atomic_store(&log_fd, -1);
  atomic_fetch_add(&records, 1);
  errno = saved;
}

void wpt_put(enum kind kind, const void* data, size_t size) {
  struct iovec piece = {(void*)data, size};
  wpt_write(kind, &piece, 1);
}

void wpt_note(const char* text) { wpt_put(kNote, text, strlen(text)); }

static int high_fd(int fd) {
  int high = fcntl(fd, F_DUPFD_CLOEXEC, kHighFd);
  if (high < 0) return fd;
  syscall(SYS_close, fd);
  return high;
}

bool wpt_own_fd(int fd) { return fd >= 0 && (fd == atomic_load(&log_fd) || fd == bounce_fd); }

bool wpt_move_fd(int fd) {
  int next = fcntl(fd, F_DUPFD_CLOEXEC, fd + 1);
  if (next < 0) return false;
  if (fd == bounce_fd) {
    bounce_fd = next;
  } else {
    atomic_store(&log_fd, next);
  }
  return true;
}

static bool make_bounce(void) {
  bounce = NULL;
  atomic_store(&busy_slots, 0);
  int fd = (int)syscall(SYS_memfd_create, "warpath-trace", 1u /* MFD_CLOEXEC */);
  if (fd < 0) return false;
  bounce_fd = high_fd(fd);
  if (ftruncate(bounce_fd, (off_t)kSlots * kChunk) != 0) return false;
  void* map = mmap(NULL, (size_t)kSlots * kChunk, PROT_READ | PROT_WRITE, MAP_SHARED, bounce_fd, 0);
  if (map != MAP_FAILED) bounce = map;
  return bounce != NULL;
}

// The kernel copies, so that memory which cannot be read is an error and no fault. A write to a memory file
// works for device memory too, which process_vm_readv refuses.
struct copy wpt_copy(uint64_t address, size_t size) {
  struct copy made = {.slot = -1};
  if (bounce == NULL || size == 0 || size > kChunk) return made;
  uint64_t busy = atomic_load(&busy_slots);
  int slot;
  do {
    if (busy == ~0ull) return made;
    slot = __builtin_ctzll(~busy);
  } while (!atomic_compare_exchange_weak(&busy_slots, &busy, busy | 1ull << slot));
  made.slot = slot;
  made.data = bounce + (size_t)slot * kChunk;
  int saved = errno;
  ssize_t done = pwrite(bounce_fd, (const void*)(uintptr_t)address, size, (off_t)slot * kChunk);
  made.bytes = done > 0 ? (size_t)done : 0;
  errno = saved;
  return made;
}

void wpt_release(struct copy copy) {
  if (copy.slot >= 0) atomic_fetch_and(&busy_slots, ~(1ull << copy.slot));
}

bool wpt_peek(void* to, uint64_t address, size_t size) {
  struct copy copy = wpt_copy(address, size);
  bool whole = copy.bytes == size;
  if (whole) memcpy(to, copy.data, size);
  wpt_release(copy);
  return whole;
}

// Who debugs this process and whether system calls are filtered: both can get in the way of the trap.
static void read_status(uint32_t* tracer, uint32_t* seccomp) {
  char text[4096];
  int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t size = read(fd, text, sizeof text - 1);
  syscall(SYS_close, fd);
  if (size <= 0) return;
  text[size] = 0;
  const char* at = strstr(text, "TracerPid:");
  if (at != NULL) *tracer = (uint32_t)strtoul(at + 10, NULL, 10);
  at = strstr(text, "Seccomp:");
  if (at != NULL) *seccomp = (uint32_t)strtoul(at + 8, NULL, 10);
}

void wpt_log_process(bool forked) {
  if (!make_bounce()) {
    wpt_note(
        "memory cannot be copied here (memfd_create fails): structures and pushbuffers are not recorded");
  }
  struct {
    uint32_t parent, forked, tracer, seccomp;
    uint64_t wall_ns;
  } body = {.parent = (uint32_t)getppid(), .forked = forked};
  struct timespec wall;
  clock_gettime(CLOCK_REALTIME, &wall);
  body.wall_ns = (uint64_t)wall.tv_sec * 1000000000u + (uint64_t)wall.tv_nsec;
  read_status(&body.tracer, &body.seccomp);
  filtered = body.seccomp != 0;
  char path[1024];
  ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  struct iovec pieces[] = {{&body, sizeof body}, {path, length > 0 ? (size_t)length : 0}};
  wpt_write(kProcess, pieces, 2);
}

void wpt_log_exit(void) {
  uint32_t tracer = 0, seccomp = 0;
  read_status(&tracer, &seccomp);
  if (seccomp != 0 && !filtered) {
    wpt_note("the program filters its own system calls (seccomp): what the filter refuses is missing here");
  }
  uint64_t count = atomic_load(&records);
  wpt_put(kExit, &count, sizeof count);
}

// Under a limit on file sizes the log would sooner or later end the program (SIGXFSZ): leave it alone and say
// so.
static bool file_size_limited(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
  wpt_note("the size of files is limited (ulimit -f) for this program: it runs unrecorded");
  signal(SIGXFSZ, before);
  return true;
}

void wpt_read_options(void) {
  const char* path = getenv("WARPATH_TRACE_LOG");
  const char* flags = getenv("WARPATH_TRACE_FLAGS");
  if (path == NULL || flags == NULL) return;
  int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd < 0) return;
  atomic_store(&log_fd, high_fd(fd));
  if (file_size_limited()) return;
  wpt_options.on = true;
  wpt_options.doorbell = strchr(flags, 'd') != NULL;
  wpt_options.memory = strchr(flags, 'm') != NULL;
  wpt_options.calls = strchr(flags, 'c') != NULL;
  wpt_options.images = strchr(flags, 'i') != NULL;
  wpt_options.wide_channel = strchr(flags, 'w') != NULL;
}
