// Counts the ioctls that a program makes on NVIDIA's device files, by ptrace: a second method, which shares nothing with
// the recorder. Usage: count_ioctls FILE PROGRAM [ARGS]; writes one line, "opens ioctls".
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static long opens, ioctls;

static int is_device(pid_t thread, unsigned long fd) {
  char link[64], path[256];
  snprintf(link, sizeof link, "/proc/%d/fd/%lu", thread, fd);
  ssize_t size = readlink(link, path, sizeof path);
  return size > 11 && strncmp(path, "/dev/nvidia", 11) == 0;
}

// Called at both ends of a system call: rax is -ENOSYS on entry.
static void look(pid_t thread) {
  struct user_regs_struct r;
  if (ptrace(PTRACE_GETREGS, thread, 0, &r) != 0) return;
  int entry = (long)r.rax == -ENOSYS;
  if (entry && r.orig_rax == SYS_ioctl && is_device(thread, r.rdi)) ioctls++;
  if (!entry && (r.orig_rax == SYS_openat || r.orig_rax == SYS_open) && (long)r.rax >= 0 && is_device(thread, r.rax)) opens++;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  pid_t first = fork();
  if (first == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    raise(SIGSTOP);
    execvp(argv[2], argv + 2);
    _exit(127);
  }
  int status, code = 1;
  waitpid(first, &status, 0);
  long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
  ptrace(PTRACE_SETOPTIONS, first, 0, options);
  ptrace(PTRACE_SYSCALL, first, 0, 0);
  for (;;) {
    pid_t thread = waitpid(-1, &status, __WALL);
    if (thread < 0) break;
    if (WIFEXITED(status) || WIFSIGNALED(status)) {
      if (thread == first) code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      continue;
    }
    int signal = WSTOPSIG(status);
    if (signal == (SIGTRAP | 0x80)) {
      look(thread);
      signal = 0;
    } else if (status >> 16 != 0 || signal == SIGSTOP) {
      signal = 0;  // an event of ptrace itself, or a new thread's first stop
    }
    ptrace(PTRACE_SYSCALL, thread, 0, signal);
  }
  FILE* out = fopen(argv[1], "w");
  if (out == NULL) return 3;
  fprintf(out, "%ld %ld\n", opens, ioctls);
  fclose(out);
  return code;
}
