// status: fail
// seconds: 20
// Limits and priorities of all other processes of its user, the grader among them, as far as they are in sight (1 is a supervisor that
// ends with the answer). What is asked for changes nothing.
#include "ferry.h"
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NEAR = 2000 };

static void say(long done, const char *call, int process) {
  if (done == 0)
    printf("got hold of process %d by %s\n", process, call);
}

static void attack(void) {
  struct rlimit limit;
  struct sched_param none = {0};
  const int own = getpid(),
            near = getppid() < NEAR ? NEAR : getppid(); // the grader began shortly before its supervisor
  for (int p = near - NEAR + 2; p < near + NEAR; p++) {
    if (p == own)
      continue;
    say(syscall(SYS_prlimit64, p, RLIMIT_CORE, NULL, &limit), "prlimit", p);
    say(setpriority(PRIO_PROCESS, (id_t)p, 0), "setpriority", p);
    say(sched_setscheduler(p, SCHED_OTHER, &none), "sched_setscheduler", p);
    say(syscall(SYS_ioprio_set, 1, p, 0), "ioprio_set", p);
  }
  if (getrlimit(RLIMIT_CORE, &limit) != 0 || setrlimit(RLIMIT_CORE, &limit) != 0 ||
      setpriority(PRIO_PROCESS, 0, 19) != 0)
    puts("it got hold of nothing of its own");
}
