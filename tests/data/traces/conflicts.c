// Runs a program under what gets in the way of a recorder. Usage: conflicts HOW PROGRAM [ARGS]:
//   pass, swallow       traced by a parent that hands on every signal, or keeps SIGTRAP to itself
//   mremap, memfd       a filter refuses this system call (EPERM); of memfd_create only the recorder's
//   kill, allow         a filter kills at writev, or allows everything
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// `number` gets `verdict` when its second argument has a bit of `mask`, or always when that is 0.
static int filter(unsigned number, unsigned mask, unsigned verdict) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | (mask ? BPF_JSET : BPF_JGE) | BPF_K, mask, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, verdict),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof code / sizeof code[0], code};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int traced(char** command, int swallow) {
  pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, 0, 0);
    execvp(command[0], command);
    _exit(127);
  }
  int status, started = 0;
  while (waitpid(child, &status, 0) == child) {
    if (WIFEXITED(status)) return WEXITSTATUS(status);
    if (WIFSIGNALED(status)) return 128 + WTERMSIG(status);
    int sent = WSTOPSIG(status);
    if (sent == SIGTRAP && (swallow || !started)) sent = 0;  // the first is that of exec
    started = 1;
    ptrace(PTRACE_CONT, child, 0, sent);
  }
  return 1;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const char* how = argv[1];
  const unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
  if (strcmp(how, "pass") == 0 || strcmp(how, "swallow") == 0) return traced(argv + 2, how[0] == 's');
  int failed = strcmp(how, "mremap") == 0  ? filter(SYS_mremap, 0, refuse)
               : strcmp(how, "memfd") == 0 ? filter(SYS_memfd_create, 1, refuse)
               : strcmp(how, "kill") == 0  ? filter(SYS_writev, 0, SECCOMP_RET_KILL_PROCESS)
                                           : filter(SYS_writev, 0, SECCOMP_RET_ALLOW);
  if (failed) return 3;
  execvp(argv[2], argv + 2);
  return 127;
}
