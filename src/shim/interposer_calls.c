// Names and times of driver API calls. Programs reach the driver through cuGetProcAddress, dlsym or direct
// linking; in each case they get a thunk that notes the call, runs the real function with the same registers
// and stack, and notes its return. No prototype is needed: the return address is put aside per thread while
// the call runs.

#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "interposer.h"

enum { kMostCalls = 2048, kDepth = 64, kLastRegister = 5, kNoSuchFunction = 500 };  // CUDA_ERROR_NOT_FOUND

// The driver's exports come first, in the order of the list that the model's libcuda is made from.
#define WP(name, ...) #name,
static const char* const exported[] = {
#include "exports_driver.def"
};
#undef WP
enum { kExported = sizeof exported / sizeof exported[0] };

static _Atomic(const char*) names[kMostCalls];
_Atomic(void*) wpt_targets[kMostCalls] __attribute__((visibility("hidden")));
static _Atomic uint8_t noted[kMostCalls];
static _Atomic uint8_t roles[kMostCalls];  // 1 + the role; 0: not looked up yet
static atomic_int used = kExported;

struct frame {
  void** slot;  // where the return address lay on the stack
  void* back;
  uint32_t index;
  enum role role;
  uint64_t arguments[kArguments];
};

static __thread struct {
  int depth;
  struct frame frames[kDepth];
} stack __attribute__((tls_model("initial-exec")));

static __thread int counter __attribute__((tls_model("initial-exec")));  // perf descriptor + 1; -1: none

// `registers` of wpt_call_begins are r9, r8, rcx, rdx, rsi, rdi. One entry per call: it pushes its number and
// joins the common path.
__asm__(
    ".text\n"
    ".balign 16\n"
    ".hidden wpt_thunks\n.globl wpt_thunks\n"
    "wpt_thunks:\n"
    ".set i, 0\n"
    ".rept 2048\n"
    "  .balign 16\n"
    "  push $i\n"
    "  jmp wpt_thunk\n"
    "  .set i, i + 1\n"
    ".endr\n"
    ".hidden wpt_thunk\n"
    "wpt_thunk:\n"  // stack: number, return address
    "  push %rax\n  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n"
    "  sub $136, %rsp\n"
    "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n  movups %xmm2, 32(%rsp)\n  movups %xmm3, 48(%rsp)\n"
    "  movups %xmm4, 64(%rsp)\n  movups %xmm5, 80(%rsp)\n  movups %xmm6, 96(%rsp)\n  movups %xmm7, "
    "112(%rsp)\n"
    "  mov 192(%rsp), %rdi\n"
    "  lea 200(%rsp), %rsi\n"
    "  lea 136(%rsp), %rdx\n"
    "  call wpt_call_begins\n"
    "  mov %rax, %r11\n"
    "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n  movups 32(%rsp), %xmm2\n  movups 48(%rsp), %xmm3\n"
    "  movups 64(%rsp), %xmm4\n  movups 80(%rsp), %xmm5\n  movups 96(%rsp), %xmm6\n  movups 112(%rsp), "
    "%xmm7\n"
    "  add $136, %rsp\n"
    "  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n  pop %rax\n"
    "  add $8, %rsp\n"
    "  jmp *%r11\n"
    ".hidden wpt_return\n.globl wpt_return\n"
    "wpt_return:\n"  // the real function returned here
    "  sub $8, %rsp\n"
    "  push %rax\n  push %rdx\n"
    "  sub $40, %rsp\n"
    "  movups %xmm0, (%rsp)\n  movups %xmm1, 16(%rsp)\n"
    "  mov %rax, %rdi\n"
    "  call wpt_call_ends\n"
    "  mov %rax, 56(%rsp)\n"
    "  movups (%rsp), %xmm0\n  movups 16(%rsp), %xmm1\n"
    "  add $40, %rsp\n"
    "  pop %rdx\n  pop %rax\n"
    "  ret\n"
    // dlsym(RTLD_NEXT) and dlsym(RTLD_DEFAULT) depend on who asks: leave those to the real one, as a jump.
    ".globl dlsym\n.type dlsym, @function\n"
    "dlsym:\n"
    "  lea 1(%rdi), %rax\n"
    "  cmp $1, %rax\n"
    "  ja wpt_dlsym\n"
    "  push %rdi\n  push %rsi\n  sub $8, %rsp\n"
    "  call wpt_real_dlsym\n"
    "  add $8, %rsp\n  pop %rsi\n  pop %rdi\n"
    "  jmp *%rax\n");

// Direct linking finds these. They are weak: cuGetProcAddress has a definition of its own.
__asm__(
    ".text\n"
    ".set number, 0\n"
#define WP(name, ...)                                               \
  ".balign 16\n.weak " #name "\n.type " #name ", @function\n" #name \
  ":\n  push $number\n  jmp wpt_thunk\n"                            \
  ".set number, number + 1\n"
#include "exports_driver.def"
#undef WP
);

extern char wpt_thunks[] __attribute__((visibility("hidden")));
extern char wpt_return[] __attribute__((visibility("hidden")));
enum { kThunkBytes = 16 };

// --- user-space instructions, where the machine counts them
// -------------------------------------------------

static uint64_t instructions(void) {
  if (counter == 0) {
    struct perf_event_attr wanted = {.type = PERF_TYPE_HARDWARE, .size = sizeof wanted};
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    int fd = (int)syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    static atomic_bool said;
    if (fd < 0 && !atomic_exchange(&said, true)) {
      char text[128] = "user-space instructions are not available here: perf_event_open says ";
      strncat(text, strerror(errno), sizeof text - strlen(text) - 1);
      wpt_note(text);
    }
    counter = fd < 0 ? -1 : fd + 1;
  }
  uint64_t value = 0;
  if (counter > 0 && read(counter - 1, &value, sizeof value) != sizeof value) return 0;
  return value;
}

// --- the two ends of a call
// ---------------------------------------------------------------------------------

struct call {
  uint32_t index, ends;
  uint64_t result, instructions;  // at the beginning `result` is the function that is launched
};

static void* missing(void) { return (void*)(intptr_t)kNoSuchFunction; }

static void* resolve(uint32_t index) {
  void* target = atomic_load(&wpt_targets[index]);
  if (target != NULL || index >= kExported) return target;
  target = wpt_next(exported[index]);
  if (target == NULL) {  // loaded with dlopen, for its caller alone
    void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library != NULL) target = wpt_lookup(library, exported[index]);
  }
  if (target == NULL) return (void*)missing;
  atomic_store(&wpt_targets[index], target);
  return target;
}

static const char* name_of(uint32_t index) {
  return index < kExported ? exported[index] : atomic_load(&names[index]);
}

static enum role role_of(uint32_t index) {
  uint8_t known = atomic_load(&roles[index]);
  if (known == 0) atomic_store(&roles[index], known = (uint8_t)(1 + wpt_role_of(name_of(index))));
  return (enum role)(known - 1);
}

static void note_name(uint32_t index) {
  if (atomic_exchange(&noted[index], 1) != 0) return;
  const char* name = name_of(index);
  struct iovec pieces[] = {{&index, sizeof index}, {(void*)name, strlen(name)}};
  wpt_write(kName, pieces, 2);
}

__attribute__((visibility("hidden"))) void* wpt_call_begins(uint64_t index, void** slot,
                                                            const uint64_t* registers) {
  int saved = errno;
  void* target = resolve((uint32_t)index);
  // Frames below this one were left by longjmp or an exception.
  while (stack.depth > 0 && stack.frames[stack.depth - 1].slot <= slot) stack.depth--;
  if (wpt_options.on && wpt_options.calls && stack.depth < kDepth) {
    note_name((uint32_t)index);
    struct frame* frame = &stack.frames[stack.depth++];
    *frame = (struct frame){slot, *slot, (uint32_t)index, role_of((uint32_t)index), {0}};
    for (int i = 0; i < kArguments; i++) frame->arguments[i] = registers[kLastRegister - i];
    *slot = wpt_return;
    struct call body = {.index = (uint32_t)index, .instructions = instructions()};
    body.result = wpt_launched(frame->role, frame->arguments);
    wpt_put(kCall, &body, sizeof body);
  }
  errno = saved;
  return target;
}

__attribute__((visibility("hidden"))) void* wpt_call_ends(uint64_t result) {
  int saved = errno;
  struct frame frame = stack.frames[--stack.depth];
  struct call body = {.index = frame.index, .ends = 1, .result = result, .instructions = instructions()};
  wpt_put(kCall, &body, sizeof body);
  if ((uint32_t)result == 0) wpt_returned(frame.role, frame.arguments);
  errno = saved;
  return frame.back;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void wpt_calls_forked(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  memset((void*)noted, 0, sizeof noted);  // each process names the calls it makes
}

void* wpt_wrap_call(const char* name, void* target) {
  if (target == NULL || !wpt_options.on || !wpt_options.calls) return target;
  pthread_mutex_lock(&lock);
  int index = kExported, end = atomic_load(&used);
  while (index < end && atomic_load(&wpt_targets[index]) != target) index++;
  char* kept = index == end && end < kMostCalls ? strdup(name) : NULL;
  if (kept != NULL) {
    atomic_store(&names[index], kept);
    atomic_store(&wpt_targets[index], target);
    atomic_store(&used, end + 1);
  }
  pthread_mutex_unlock(&lock);
  return index < end || kept != NULL ? wpt_thunks + (size_t)index * kThunkBytes : target;
}
