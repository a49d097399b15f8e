// A stand-in for NVIDIA's kernel driver, preloaded behind the recorder: its device files are memory files, its ioctls say
// yes. Everything the recorder does (open, map, move, trap, single step) happens for real.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static char fake[4096];
static unsigned next_handle = 0x5c000001;

int open(const char* path, int flags, ...) {
  if (strcmp(path, "/dev/nvidia9") == 0) {
    errno = EACCES;
    return -1;
  }
  if (strncmp(path, "/dev/nvidia", 11) != 0) {
    va_list list;
    va_start(list, flags);
    int mode = va_arg(list, int);
    va_end(list);
    return (int)syscall(SYS_openat, -100, path, flags, mode);
  }
  int fd = (int)syscall(SYS_memfd_create, "device", 0);
  if (ftruncate(fd, 4 << 20) != 0) return -1;
  fake[fd] = 1;
  return fd;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  char* p = va_arg(list, char*);
  va_end(list);
  if (!fake[fd]) return (int)syscall(SYS_ioctl, fd, request, p);
  if (_IOC_TYPE(request) != 'F') return 0;
  if (_IOC_NR(request) == 0x2b) {
    unsigned* handle = (unsigned*)(p + 8);
    if (*handle == 0) *handle = next_handle++;
    memset(p + 40, 0, 4);
  } else if (_IOC_NR(request) == 0x2a) {
    unsigned command, object;
    memcpy(&object, p + 4, 4);
    memcpy(&command, p + 8, 4);
    char* params;
    memcpy(&params, p + 16, 8);
    if (command == 0xc36f0108) {
      unsigned token = object & 0xffff;
      memcpy(params, &token, 4);
    }
    memset(p + 28, 0, 4);
  } else if (_IOC_NR(request) == 0x4e) {
    memset(p + 40, 0, 4);
  }
  return 0;
}
