// Speaks to fake_driver.c as a CUDA driver speaks to the kernel: channels, rings, doorbells by many kinds of store. Prints one
// line for each doorbell it has rung: the value and whether it reached the "GPU".
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kEntries = 8, kThreads = 4, kRings = 200 };

struct alloc {
  uint32_t client, parent, handle, class_id;
  uint64_t params, rights;
  uint32_t size, flags, status, pad;
};
struct control {
  uint32_t client, object, command, flags;
  uint64_t params;
  uint32_t size, status;
};
struct map {
  uint32_t client, device, memory, pad;
  uint64_t offset, length, linear;
  uint32_t status, flags;
  int fd, pad2;
};

static int ctl;
static volatile char* bell;
static volatile uint32_t* gpu;  // the doorbell page as the GPU sees it

static uint32_t make(uint32_t class_id, void* params, uint32_t size) {
  struct alloc a = {.client = 0xc1d0001a, .parent = 1, .class_id = class_id, .params = (uintptr_t)params, .size = size};
  ioctl(ctl, _IOWR('F', 0x2b, struct alloc), &a);
  return a.handle;
}

static char* map_memory(uint32_t handle, size_t length, void* at, int* keep) {
  int fd = open("/dev/nvidia0", O_RDWR);
  struct map m = {.client = 0xc1d0001a, .memory = handle, .length = length, .fd = fd};
  ioctl(ctl, _IOWR('F', 0x4e, struct map), &m);
  char* p = mmap(at, length, PROT_READ | PROT_WRITE, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);
  if (keep) *keep = fd;
  return p;
}

struct channel {
  char* ring;
  uint32_t token, put;
  uint32_t* push;
};

static struct channel channel(uint64_t at, uint64_t push) {
  uint32_t memory = make(0x3e, NULL, 0);
  char* ring = map_memory(memory, 0x4000, (void*)at, NULL);
  map_memory(make(0x3e, NULL, 0), 0x100000, (void*)push, NULL);
  uint32_t params[92] = {0};
  memcpy((char*)params + 8, &at, 8);
  params[4] = kEntries;
  params[8] = memory;
  params[16] = 0x2000;
  uint32_t handle = make(0xc86f, params, sizeof params), token = 0;
  struct control c = {.client = 0xc1d0001a, .object = handle, .command = 0xc36f0108, .params = (uintptr_t)&token, .size = 4};
  ioctl(ctl, _IOWR('F', 0x2a, struct control), &c);
  return (struct channel){ring, token, 0, (uint32_t*)push};
}

static void entry(struct channel* c, uint32_t value) {
  uint64_t at = (uintptr_t)c->push;
  c->push[0] = 0x20010000;  // increasing, one value, subchannel 0, method 0
  c->push[1] = value;
  uint64_t word = at | 2ull << 42;
  memcpy(c->ring + 8 * c->put, &word, 8);
  c->push += 2;
  c->put = (c->put + 1) % kEntries;
  memcpy(c->ring + 0x2000 + 0x8c, &c->put, 4);
}

static void ring(struct channel* c, int form) {
  char* base = (char*)bell;
  uint64_t index = 0x24;
  uint32_t value = c->token;
  switch (form) {
    case 0: __asm__ volatile("movl %0, 0x90(%1)" ::"r"(value), "r"(base) : "memory"); break;
    case 1: __asm__ volatile("movl %0, (%1,%2,4)" ::"r"(value), "r"(base), "r"(index) : "memory"); break;
    case 2: __asm__ volatile("movnti %0, 0x90(%1)" ::"r"(value), "r"(base) : "memory"); break;
    case 3: __asm__ volatile("xchgl %0, 0x90(%1)" : "+r"(value) : "r"(base) : "memory"); break;
    case 4: __asm__ volatile("movq %q0, 0x90(%1)" ::"r"((uint64_t)value), "r"(base) : "memory"); break;
    default: {
      char *other = base + 8, *exact = base + 0x90;  // a second pointer near it, and one right at it
      __asm__ volatile("movl %0, (%1)" ::"r"(value), "r"(exact), "r"(other) : "memory");
    }
  }
}

static sigjmp_buf back;
static int faults, traps;
static void on_segv(int s, siginfo_t* i, void* c) {
  (void)s; (void)i; (void)c;
  faults++;
  siglongjmp(back, 1);
}
static void on_trap(int s) { (void)s; traps++; }

static pthread_mutex_t print = PTHREAD_MUTEX_INITIALIZER;
static void* hammer(void* argument) {
  struct channel* c = argument;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  for (int i = 0; i < kRings; i++) {
    entry(c, 0xcbc0);
    ring(c, i % 6);
  }
  return NULL;
}

int main(int argc, char** argv) {
  ctl = open("/dev/nvidiactl", O_RDWR);
  if (open("/dev/nvidia9", O_RDWR) >= 0) return 9;
  int fd;
  bell = map_memory(make(0xc661, NULL, 0), 0x10000, NULL, &fd);
  gpu = mmap(NULL, 0x10000, PROT_READ | PROT_WRITE, MAP_SHARED, dup(fd), 0);
  struct channel c = channel(0x200600000, 0x200800000);
  if (argc > 1 && strcmp(argv[1], "crash") == 0) {
    entry(&c, 0xcbc0);
    ring(&c, 0);
    abort();
  }
  if (argc > 1 && strcmp(argv[1], "leave") == 0) _exit(0);
  if (argc > 1 && strcmp(argv[1], "filter") == 0) {  // that allows everything
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){1, &allow});
  }
  int good = 1;
  for (int form = 0; form < 6; form++) {
    gpu[0x24] = 0;
    entry(&c, 0xcbc0 + form);
    if (form % 2) entry(&c, 0xc8b5);  // two entries, one ring
    ring(&c, form);
    good &= gpu[0x24] == c.token;
  }
  gpu[0x24] = 77;
  uint32_t read = *(volatile uint32_t*)(bell + 0x90);
  good &= read == 77;
  // A channel that has no token, then handlers of the program's own.
  c.token ^= 0x8000;
  ring(&c, 0);
  c.token ^= 0x8000;
  struct sigaction mine = {.sa_sigaction = on_segv, .sa_flags = SA_SIGINFO}, seen;
  sigaction(SIGSEGV, &mine, NULL);
  sigaction(SIGSEGV, NULL, &seen);
  good &= seen.sa_sigaction == on_segv;
  signal(SIGTRAP, on_trap);
  if (sigsetjmp(back, 1) == 0) *(volatile int*)16 = 1;
  raise(SIGTRAP);
  __asm__ volatile("int3");
  entry(&c, 0xcbc0);
  ring(&c, 0);
  good &= faults == 1 && traps == 2;
  struct channel many[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; i++) many[i] = channel(0x210000000ull + i * 0x10000, 0x220000000ull + i * 0x1000000);
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, hammer, &many[i]);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  pid_t child = fork();
  if (child == 0) {
    close(open("/dev/nvidiactl", O_RDWR));
    _exit(0);
  }
  waitpid(child, NULL, 0);
  printf("%s\n", good ? "good" : "bad");
  return !good;
}
