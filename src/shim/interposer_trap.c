// The doorbell trap. A doorbell page is moved away and its address made unreadable. The instruction that
// touches it faults; it is then run by single step with its address register pointing elsewhere: first at a
// scratch page, which shows what it stores, then, once the ring is recorded, at the real page. So no
// instruction is decoded, every width and form of store works, and the trapped address stays closed to other
// threads all the while.

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "interposer.h"

enum { kRegions = 64, kNear = 1 << 20, kTrapFlag = 0x100, kWriteFault = 2 };

struct region {
  _Atomic uintptr_t address;  // 0: free
  size_t length;
  uint8_t* real;
  uint8_t* scratch;
};

// General registers that can hold an address, as ucontext numbers them.
static const int kRegisters[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_R8,
                                 REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
enum { kRegisterCount = sizeof kRegisters / sizeof kRegisters[0] };

// The step in progress: one at a time, by the thread `owner`.
static struct {
  atomic_int owner;
  struct region* region;
  uintptr_t address;
  bool forward;  // the step that reaches the real page
  int tries;     // registers that were not the one
  int changed;   // register that was moved, and the value it was given
  greg_t given;
  gregset_t saved;
  sigset_t mask;
  uint64_t since, ring;
} step;

static struct region regions[kRegions];
static struct sigaction wanted[2];  // what the program believes to be installed, for SIGSEGV and SIGTRAP
static atomic_bool installed;
static atomic_int probing;  // the thread that tries whether single steps arrive

static int thread_id(void) { return (int)syscall(SYS_gettid); }

static struct region* region_at(uintptr_t address) {
  for (int i = 0; i < kRegions; i++) {
    uintptr_t start = atomic_load(&regions[i].address);
    if (start != 0 && address - start < regions[i].length) return &regions[i];
  }
  return NULL;
}

// The `rank`-th register by distance from the fault's address; -1 when there is none near.
static int candidate(const greg_t* registers, uintptr_t address, int rank) {
  uint64_t floor = 0;
  int floor_at = -1;
  for (int found = 0;; found++) {
    uint64_t best = kNear;
    int at = -1;
    for (int i = 0; i < kRegisterCount; i++) {
      int64_t away = (int64_t)(address - (uintptr_t)registers[kRegisters[i]]);
      uint64_t distance = (uint64_t)(away < 0 ? -away : away);
      bool later = distance > floor || (distance == floor && i > floor_at);
      if (later && distance < best) {
        best = distance;
        at = i;
      }
    }
    if (at < 0) return -1;
    if (found == rank) return kRegisters[at];
    floor = best;
    floor_at = at;
  }
}

static void finish(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  if ((step.saved[REG_EFL] & kTrapFlag) == 0) registers[REG_EFL] &= ~kTrapFlag;
  context->uc_sigmask = step.mask;
  atomic_store(&step.owner, 0);
}

// An instruction that cannot be redirected: put the real page back, untrapped, and say so.
static void surrender(ucontext_t* context) {
  struct region* r = step.region;
  memcpy(context->uc_mcontext.gregs, step.saved, sizeof step.saved);
  void* address = (void*)atomic_load(&r->address);
  atomic_store(&r->address, 0);
  mremap(r->real, r->length, r->length, MREMAP_MAYMOVE | MREMAP_FIXED, address);
  wpt_note(
      "an instruction reached the doorbell in a way that cannot be stepped: this page is no longer trapped");
  finish(context);
}

// Restart the instruction with its address register moved from the trapped page to another.
static void redirect(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  memcpy(registers, step.saved, sizeof step.saved);
  int chosen = candidate(registers, step.address, step.tries);
  if (chosen < 0) {
    surrender(context);
    return;
  }
  uint8_t* to = step.forward ? step.region->real : step.region->scratch;
  step.changed = chosen;
  step.given = registers[chosen] + (greg_t)((uintptr_t)to - atomic_load(&step.region->address));
  registers[chosen] = step.given;
  registers[REG_EFL] |= kTrapFlag;
  sigfillset(&context->uc_sigmask);
  sigdelset(&context->uc_sigmask, SIGSEGV);
  sigdelset(&context->uc_sigmask, SIGTRAP);
}

static void begin(struct region* region, uintptr_t address, ucontext_t* context) {
  uint64_t since = wpt_now();
  int free = 0, self = thread_id();
  while (!atomic_compare_exchange_weak(&step.owner, &free, self)) {
    free = 0;
    sched_yield();
  }
  step.region = region;
  step.address = address;
  step.tries = 0;
  step.since = since;
  step.mask = context->uc_sigmask;
  memcpy(step.saved, context->uc_mcontext.gregs, sizeof step.saved);
  step.forward = (context->uc_mcontext.gregs[REG_ERR] & kWriteFault) == 0;
  step.ring = 0;
  redirect(context);
}

static uint32_t index_of(const struct region* region) { return (uint32_t)(region - regions); }

// The instruction has been run once: on the scratch page (look, then run it on the real one) or for good.
static void stepped(ucontext_t* context) {
  greg_t* registers = context->uc_mcontext.gregs;
  uint32_t offset = (uint32_t)(step.address - atomic_load(&step.region->address));
  if (!step.forward) {
    uint32_t value;
    memcpy(&value, step.region->scratch + (offset & ~3u), sizeof value);
    step.ring = wpt_ring(index_of(step.region), offset, value);
    step.forward = true;
    redirect(context);
    return;
  }
  // A load may have replaced the register that was moved; otherwise it gets its own value back.
  if (registers[step.changed] == step.given) registers[step.changed] = step.saved[step.changed];
  if (step.ring != 0) {
    wpt_rung(step.ring, step.since);
  } else {
    uint32_t read[2] = {index_of(step.region), offset};
    wpt_put(kDoorbellRead, read, sizeof read);
  }
  finish(context);
}

// Hands a signal that is not ours to whoever the program wanted to have it.
static void pass_on(int signal, siginfo_t* info, void* context) {
  struct sigaction action = wanted[signal == SIGTRAP];
  if (action.sa_handler == SIG_IGN && info->si_code <= 0) return;  // sent by a process, and ignored
  if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    struct sigaction plain = {.sa_handler = SIG_DFL};
    int (*real)(int, const struct sigaction*, struct sigaction*) = wpt_next("sigaction");
    real(signal, &plain, NULL);
    // A fault comes again on return; a trap or a sent signal has to be sent again.
    if (signal == SIGTRAP || info->si_code <= 0) syscall(SYS_tgkill, getpid(), thread_id(), signal);
    return;
  }
  if ((action.sa_flags & (int)SA_RESETHAND) != 0) wanted[signal == SIGTRAP].sa_handler = SIG_DFL;
  sigset_t mask = ((ucontext_t*)context)->uc_sigmask;
  sigorset(&mask, &mask, &action.sa_mask);
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, _NSIG / 8);
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
}

static void on_fault(int signal, siginfo_t* info, void* context) {
  int saved = errno;
  uintptr_t address = (uintptr_t)info->si_addr;
  if (atomic_load(&step.owner) == thread_id()) {  // not this register: try the next
    step.tries++;
    redirect(context);
    errno = saved;
    return;
  }
  struct region* region = info->si_code > 0 ? region_at(address) : NULL;
  if (region == NULL) {
    pass_on(signal, info, context);
    return;
  }
  begin(region, address, context);
  errno = saved;
}

static void on_trap(int signal, siginfo_t* info, void* context) {
  int self = thread_id();
  if (info->si_code > 0 && atomic_compare_exchange_strong(&probing, &self, 0)) {
    ((ucontext_t*)context)->uc_mcontext.gregs[REG_EFL] &= ~kTrapFlag;
    return;
  }
  if (atomic_load(&step.owner) != thread_id() || info->si_code <= 0) {
    pass_on(signal, info, context);
    return;
  }
  int saved = errno;
  stepped(context);
  errno = saved;
}

static void install(void) {
  if (atomic_exchange(&installed, true)) return;
  int (*real)(int, const struct sigaction*, struct sigaction*) = wpt_next("sigaction");
  struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigfillset(&ours.sa_mask);
  sigdelset(&ours.sa_mask, SIGSEGV);  // a second fault inside the handler should kill, not hang
  ours.sa_sigaction = on_fault;
  real(SIGSEGV, &ours, &wanted[0]);
  ours.sa_sigaction = on_trap;
  real(SIGTRAP, &ours, &wanted[1]);
}

// Whether a single step reaches the handler: a debugger can keep it to itself, and then no instruction could
// be redirected. Below the red zone, since it pushes.
static bool steps_arrive(void) {
  atomic_store(&probing, thread_id());
  __asm__ volatile(
      "lea -128(%%rsp), %%rsp\n"
      "pushfq\n  orq $0x100, (%%rsp)\n  popfq\n"
      "nop\n"
      "pushfq\n  andq $~0x100, (%%rsp)\n  popfq\n"
      "lea 128(%%rsp), %%rsp\n" ::
          : "memory", "cc");
  return atomic_exchange(&probing, 0) == 0;
}

static struct region* free_region(void) {
  for (int i = 0; i < kRegions; i++) {
    if (atomic_load(&regions[i].address) == 0 && regions[i].length == 0) return &regions[i];
  }
  return NULL;
}

bool wpt_trap(void* address, size_t length, uint32_t handle) {
  struct region* r = free_region();
  if (r == NULL) {
    wpt_note("more doorbell pages than the recorder has room for: this one is not trapped");
    return false;
  }
  install();
  if (!steps_arrive()) {
    wpt_note("a debugger keeps the program's single steps to itself: rings are not recorded");
    return false;
  }
  int plain = MAP_PRIVATE | MAP_ANONYMOUS;
  void* scratch = mmap(NULL, length, PROT_READ | PROT_WRITE, plain, -1, 0);
  void* room = mmap(NULL, length, PROT_NONE, plain, -1, 0);
  if (scratch == MAP_FAILED || room == MAP_FAILED) return false;
  void* real = mremap(address, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, room);
  if (real == MAP_FAILED) {
    wpt_note("the doorbell page cannot be moved: rings are not recorded");
    munmap(scratch, length);
    munmap(room, length);
    return false;
  }
  r->length = length;
  r->real = real;
  r->scratch = scratch;
  atomic_store(&r->address, (uintptr_t)address);
  mmap(address, length, PROT_NONE, plain | MAP_FIXED, -1, 0);
  struct {
    uint32_t index, handle;
    uint64_t address, real, length;
  } body = {index_of(r), handle, (uintptr_t)address, (uintptr_t)real, length};
  wpt_put(kRegion, &body, sizeof body);
  return true;
}

void wpt_trap_forked(void) { atomic_store(&step.owner, 0); }

void wpt_untrap(void* address, size_t length) {
  for (int i = 0; i < kRegions; i++) {
    uintptr_t start = atomic_load(&regions[i].address);
    if (start == 0 || start - (uintptr_t)address >= length) continue;
    atomic_store(&regions[i].address, 0);
    munmap(regions[i].real, regions[i].length);
    munmap(regions[i].scratch, regions[i].length);
    regions[i].length = 0;
  }
}

// --- what the program says about the two signals
// ------------------------------------------------------------

static bool ours(int signal) { return (signal == SIGSEGV || signal == SIGTRAP) && atomic_load(&installed); }

static bool guarded(void) { return wpt_options.on && wpt_options.doorbell; }

WPT_PUBLIC int sigaction(int signal, const struct sigaction* action, struct sigaction* old) {
  int (*real)(int, const struct sigaction*, struct sigaction*) = wpt_next("sigaction");
  if (ours(signal)) {
    if (old != NULL) *old = wanted[signal == SIGTRAP];
    if (action != NULL) wanted[signal == SIGTRAP] = *action;
    return 0;
  }
  if (action == NULL || !guarded()) return real(signal, action, old);
  struct sigaction changed = *action;  // a doorbell may be rung from any handler
  sigdelset(&changed.sa_mask, SIGSEGV);
  sigdelset(&changed.sa_mask, SIGTRAP);
  return real(signal, &changed, old);
}

WPT_PUBLIC sighandler_t signal(int number, sighandler_t handler) {
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, old;
  sigemptyset(&action.sa_mask);
  if (sigaction(number, &action, &old) != 0) return SIG_ERR;
  return old.sa_handler;
}

// A thread that blocks the two signals would be killed by the first doorbell.
static int change_mask(const char* name, int how, const sigset_t* set, sigset_t* old) {
  int (*real)(int, const sigset_t*, sigset_t*) = wpt_next(name);
  if (set == NULL || how == SIG_UNBLOCK || !guarded()) return real(how, set, old);
  sigset_t open = *set;
  sigdelset(&open, SIGSEGV);
  sigdelset(&open, SIGTRAP);
  return real(how, &open, old);
}

WPT_PUBLIC int sigprocmask(int how, const sigset_t* set, sigset_t* old) {
  return change_mask("sigprocmask", how, set, old);
}

WPT_PUBLIC int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) {
  return change_mask("pthread_sigmask", how, set, old);
}
