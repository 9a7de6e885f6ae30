// SPDX-License-Identifier: MIT
#include "worker.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

pid_t worker_begin(int *end) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return -1;
  fflush(NULL);
  const pid_t grader = getpid(), pid = fork();
  const int error = errno;
  close(ends[pid != 0]);
  *end = ends[pid == 0];
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != grader) // it died before the kernel was told
      _exit(1);
  }
  if (pid < 0)
    close(*end);
  errno = error;
  return pid;
}
