// The libc functions that a CUDA driver reaches the kernel with: each is passed on unchanged, and noted when
// it concerns one of NVIDIA's device files.

#include "interposer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "interposer_classes.h"
#include "interposer_uvm.h"

enum { kMostFds = 1 << 16, kMajor = 195, kXfer = 0xd3, kMostParams = 64 << 10 };

static _Atomic uint8_t devices[kMostFds];
static _Atomic uint64_t ioctls;

void* wpt_next(const char* name) { return wpt_lookup(RTLD_NEXT, name); }

// The next definition of a function, looked up once.
#define NEXT(name)               \
  static __typeof__(name)* next; \
  if (next == NULL) next = (__typeof__(name)*)wpt_next(#name)

static enum device device_of(int fd) {
  return fd >= 0 && fd < kMostFds ? (enum device)atomic_load(&devices[fd]) : kNoDevice;
}

static void set_device(int fd, enum device device) {
  if (fd >= 0 && fd < kMostFds) atomic_store(&devices[fd], (uint8_t)device);
}

static enum device classify(const char* path) {
  if (strncmp(path, "/proc/driver/nvidia", 19) == 0) return kDriverFile;
  if (strncmp(path, "/dev/nvidia", 11) != 0) return kNoDevice;
  const char* rest = path + 11;
  if (strcmp(rest, "ctl") == 0) return kControl;
  if (strcmp(rest, "-uvm") == 0) return kUvm;
  return *rest >= '0' && *rest <= '9' ? kGpu : kOtherDevice;
}

static int opened(int fd, const char* path, int flags) {
  if (!wpt_options.on || path == NULL) return fd;
  enum device device = classify(path);
  if (fd >= 0) set_device(fd, device);
  if (device == kNoDevice) return fd;
  struct {
    int32_t fd, error;
    uint32_t flags, device;
  } body = {fd, fd < 0 ? errno : 0, (uint32_t)flags, device};
  struct iovec pieces[] = {{&body, sizeof body}, {(void*)path, strlen(path)}};
  wpt_write(kOpen, pieces, 2);
  return fd;
}

#define OPEN_MODE(flags, last)                  \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list list;                               \
    va_start(list, last);                       \
    mode = va_arg(list, mode_t);                \
    va_end(list);                               \
  }

WPT_PUBLIC int open(const char* path, int flags, ...) {
  NEXT(open);
  OPEN_MODE(flags, flags)
  return opened(next(path, flags, mode), path, flags);
}

WPT_PUBLIC int open64(const char* path, int flags, ...) {
  NEXT(open64);
  OPEN_MODE(flags, flags)
  return opened(next(path, flags, mode), path, flags);
}

WPT_PUBLIC int openat(int folder, const char* path, int flags, ...) {
  NEXT(openat);
  OPEN_MODE(flags, flags)
  return opened(next(folder, path, flags, mode), path, flags);
}

WPT_PUBLIC int openat64(int folder, const char* path, int flags, ...) {
  NEXT(openat64);
  OPEN_MODE(flags, flags)
  return opened(next(folder, path, flags, mode), path, flags);
}

extern int __open_2(const char* path, int flags);
extern int __open64_2(const char* path, int flags);
extern int __openat_2(int folder, const char* path, int flags);
extern int __openat64_2(int folder, const char* path, int flags);

WPT_PUBLIC int __open_2(const char* path, int flags) {
  NEXT(__open_2);
  return opened(next(path, flags), path, flags);
}

WPT_PUBLIC int __open64_2(const char* path, int flags) {
  NEXT(__open64_2);
  return opened(next(path, flags), path, flags);
}

WPT_PUBLIC int __openat_2(int folder, const char* path, int flags) {
  NEXT(__openat_2);
  return opened(next(folder, path, flags), path, flags);
}

WPT_PUBLIC int __openat64_2(int folder, const char* path, int flags) {
  NEXT(__openat64_2);
  return opened(next(folder, path, flags), path, flags);
}

static void closed(int fd) {
  if (device_of(fd) == kNoDevice) return;
  set_device(fd, kNoDevice);
  wpt_put(kClose, &fd, sizeof fd);
}

WPT_PUBLIC int close(int fd) {
  NEXT(close);
  if (wpt_own_fd(fd)) {
    errno = EBADF;
    return -1;
  }
  if (wpt_options.on) closed(fd);
  return next(fd);
}

WPT_PUBLIC int close_range(unsigned first, unsigned last, int flags) {
  NEXT(close_range);
  if (!wpt_options.on) return next(first, last, flags);
  for (unsigned fd = first; fd <= last && fd < kMostFds; fd++) {
    if (!wpt_own_fd((int)fd)) {
      if ((flags & CLOSE_RANGE_CLOEXEC) == 0) closed((int)fd);
      continue;
    }
    int below = fd > first ? next(first, fd - 1, flags) : 0;
    if (below != 0 || fd == last) return below;
    first = fd + 1;
  }
  return next(first, last, flags);
}

static int duplicated(int old, int made) {
  enum device device = wpt_options.on && made >= 0 ? device_of(old) : kNoDevice;
  if (!wpt_options.on || made < 0) return made;
  set_device(made, device);
  int32_t body[2] = {old, made};
  if (device != kNoDevice) wpt_put(kDup, body, sizeof body);
  return made;
}

WPT_PUBLIC int dup(int fd) {
  NEXT(dup);
  return duplicated(fd, next(fd));
}

WPT_PUBLIC int dup2(int fd, int to) {
  NEXT(dup2);
  if (wpt_own_fd(to)) wpt_move_fd(to);
  return duplicated(fd, next(fd, to));
}

WPT_PUBLIC int dup3(int fd, int to, int flags) {
  NEXT(dup3);
  if (wpt_own_fd(to)) wpt_move_fd(to);
  return duplicated(fd, next(fd, to, flags));
}

static int duplicates(int command) { return command == F_DUPFD || command == F_DUPFD_CLOEXEC; }

WPT_PUBLIC int fcntl(int fd, int command, ...) {
  NEXT(fcntl);
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  int result = next(fd, command, argument);
  return duplicates(command) ? duplicated(fd, result) : result;
}

WPT_PUBLIC int fcntl64(int fd, int command, ...) {
  NEXT(fcntl64);
  va_list list;
  va_start(list, command);
  void* argument = va_arg(list, void*);
  va_end(list);
  int result = next(fd, command, argument);
  return duplicates(command) ? duplicated(fd, result) : result;
}

// --- ioctl
// ---------------------------------------------------------------------------------------------------

// The memory that an ioctl reads and writes: its structure, and what pointers at known places in it lead to.
struct block {
  uint64_t address;
  uint32_t size;
  uint32_t state;
};

struct blocks {
  struct block at[3];
  int count;
  uint32_t number;  // the escape, also when it was wrapped in a transfer
  uint64_t structure;
  uint32_t structure_size;
};

static void add_block(struct blocks* blocks, uint64_t address, uint64_t size, uint32_t state) {
  if (address == 0 || size == 0) return;
  if (size > kMostParams) state = kCut;
  uint32_t kept = size > kMostParams ? kMostParams : (uint32_t)size;
  blocks->at[blocks->count++] = (struct block){address, kept, state};
}

static void add_parameters(struct blocks* blocks) {
  uint64_t at = blocks->structure;
  uint32_t size = blocks->structure_size;
  uint64_t pointer;
  uint8_t raw[48];
  if (size < 32 || size > sizeof raw || !wpt_peek(raw, at, size)) return;
  memcpy(&pointer, raw + 16, 8);
  if (blocks->number == 0x2a) {
    uint32_t stated;
    memcpy(&stated, raw + 24, 4);
    add_block(blocks, pointer, stated, kReadable);
  } else if (blocks->number == 0x2b) {
    uint32_t class_id, stated = 0;
    memcpy(&class_id, raw + 12, 4);
    if (size == 48) memcpy(&stated, raw + 32, 4);
    if (stated != 0) {
      add_block(blocks, pointer, stated, kReadable);
    } else {
      add_block(blocks, pointer, class_size(class_id), kAssumedSize);
    }
  }
}

static struct blocks find_blocks(enum device device, unsigned long request, uint64_t argument) {
  struct blocks found = {.number = (uint32_t)request & 0xff, .structure = argument};
  if (device == kUvm) {
    found.number = (uint32_t)request;
    found.structure_size = uvm_size((uint32_t)request);
    add_block(&found, argument, found.structure_size, kReadable);
    return found;
  }
  found.structure_size = _IOC_SIZE(request);
  add_block(&found, argument, found.structure_size, kReadable);
  struct {
    uint32_t number, size;
    uint64_t pointer;
  } transfer;
  if (_IOC_TYPE(request) != 'F') return found;
  if (found.number == kXfer && wpt_peek(&transfer, argument, sizeof transfer)) {
    found.number = transfer.number;
    found.structure = transfer.pointer;
    found.structure_size = transfer.size;
    add_block(&found, transfer.pointer, transfer.size, kReadable);
  }
  add_parameters(&found);
  return found;
}

static void write_blocks(enum kind kind, const void* head, size_t size, const struct blocks* blocks) {
  struct iovec pieces[1 + 2 * 3] = {{(void*)head, size}};
  struct copy copies[3];
  struct block stated[3];
  int used = 1;
  for (int i = 0; i < blocks->count; i++) {
    copies[i] = wpt_copy(blocks->at[i].address, blocks->at[i].size);
    stated[i] = blocks->at[i];
    struct block* block = &stated[i];
    if (copies[i].bytes < block->size) {
      if (block->state != kAssumedSize) block->state = kUnreadable;
      block->size = (uint32_t)copies[i].bytes;
    }
    pieces[used++] = (struct iovec){block, sizeof *block};
    pieces[used++] = (struct iovec){(void*)copies[i].data, copies[i].bytes};
  }
  wpt_write(kind, pieces, used);
  for (int i = 0; i < blocks->count; i++) wpt_release(copies[i]);
}

// A descriptor that came another way than through open: NVIDIA's files are recognised by their major number.
static enum device adopt(int fd) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISCHR(info.st_mode) || major(info.st_rdev) != kMajor) return kNoDevice;
  enum device device = minor(info.st_rdev) == 255 ? kControl : kGpu;
  set_device(fd, device);
  return device;
}

WPT_PUBLIC int ioctl(int fd, unsigned long request, ...) {
  NEXT(ioctl);
  va_list list;
  va_start(list, request);
  void* argument = va_arg(list, void*);
  va_end(list);
  if (!wpt_options.on) return next(fd, request, argument);
  enum device device = device_of(fd);
  if (device == kNoDevice && _IOC_TYPE(request) == 'F') device = adopt(fd);
  if (device == kNoDevice || device == kDriverFile) return next(fd, request, argument);
  struct {
    uint64_t number, request, argument;
    int32_t fd;
    uint32_t device;
  } head = {atomic_fetch_add(&ioctls, 1), request, (uintptr_t)argument, fd, device};
  struct blocks blocks = find_blocks(device, request, head.argument);
  write_blocks(kIoctl, &head, sizeof head, &blocks);
  uint64_t start = wpt_now();
  int result = next(fd, request, argument);
  int error = errno;
  struct {
    uint64_t number, nanoseconds;
    int32_t result, error;
  } tail = {head.number, wpt_now() - start, result, result < 0 ? error : 0};
  write_blocks(kIoctlDone, &tail, sizeof tail, &blocks);
  if (result >= 0 && (device == kControl || device == kGpu)) {
    wpt_rm_done(blocks.number, blocks.structure, blocks.structure_size);
  }
  errno = error;
  return result;
}

// --- mappings
// ------------------------------------------------------------------------------------------------

enum { kMostMappings = 4096 };

static _Atomic uintptr_t mappings[kMostMappings];  // start addresses
static atomic_int mapping_end;

static void remember(uintptr_t at) {
  for (int i = 0; i < kMostMappings; i++) {
    uintptr_t free = 0;
    if (!atomic_compare_exchange_strong(&mappings[i], &free, at)) continue;
    int end = atomic_load(&mapping_end);
    while (end <= i && !atomic_compare_exchange_weak(&mapping_end, &end, i + 1)) continue;
    return;
  }
}

static bool forget(uintptr_t at) {
  int end = atomic_load(&mapping_end);
  for (int i = 0; i < end; i++) {
    uintptr_t known = at;
    if (atomic_compare_exchange_strong(&mappings[i], &known, 0)) return true;
  }
  return false;
}

static void* mapped(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  if (!wpt_options.on || device_of(fd) == kNoDevice) return at;
  struct {
    uint64_t address, length, offset;
    int32_t fd, protection, flags, error;
    uint32_t handle, device;
  } body = {(uintptr_t)at, length, (uint64_t)offset, fd, protection, flags, 0, 0, device_of(fd)};
  int error = errno;
  bool doorbell = false;
  if (at == MAP_FAILED) {
    body.error = error;
  } else {
    body.handle = wpt_rm_mapped(fd, body.address, length, &doorbell);
    remember(body.address);
  }
  wpt_put(kMmap, &body, sizeof body);
  if (doorbell && wpt_options.doorbell) wpt_trap(at, length, body.handle);
  errno = error;
  return at;
}

WPT_PUBLIC void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) {
  NEXT(mmap);
  return mapped(next(at, length, protection, flags, fd, offset), length, protection, flags, fd, offset);
}

WPT_PUBLIC void* mmap64(void* at, size_t length, int protection, int flags, int fd, off64_t offset) {
  NEXT(mmap64);
  return mapped(next(at, length, protection, flags, fd, offset), length, protection, flags, fd, offset);
}

WPT_PUBLIC int munmap(void* at, size_t length) {
  NEXT(munmap);
  if (wpt_options.on && forget((uintptr_t)at)) {
    uint64_t body[2] = {(uintptr_t)at, length};
    wpt_put(kMunmap, body, sizeof body);
    wpt_untrap(at, length);
  }
  return next(at, length);
}

// --- life of a process
// ---------------------------------------------------------------------------------------

// Only the forking thread lives on in the child: what another one held is free.
static void in_child(void) {
  wpt_rm_forked();
  wpt_trap_forked();
  wpt_calls_forked();
  wpt_log_process(true);
}

__attribute__((constructor)) static void start(void) {
  wpt_read_options();
  if (!wpt_options.on) return;
  wpt_log_process(false);
  pthread_atfork(NULL, NULL, in_child);
}

__attribute__((destructor)) static void stop(void) {
  if (!wpt_options.on) return;
  wpt_log_exit();
}
