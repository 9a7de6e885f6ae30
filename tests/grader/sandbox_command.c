// SPDX-License-Identifier: MIT
// The command's own process, before it becomes the command: everything is taken away from it that it does not need, and what is
// left is looked at once more. Whatever cannot be taken away ends it.
#include "sandbox_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DESCRIPTORS = 64, STATUS_DESCRIPTOR = 6, LAST_CAPABILITY = 63 };

static bool limit(int resource, rlim_t value) {
  struct rlimit old;
  if (getrlimit(resource, &old) == 0 && old.rlim_max < value)
    value = old.rlim_max;
  return setrlimit(resource, &(struct rlimit){value, value}) == 0;
}

// Where no bounds can be set to all of the files together, a run whose files nobody wants writes none; a GPU's driver may need
// files in memory, which this limit holds off too.
static rlim_t file_bytes(const SandboxJob *job, const Plan *plan) {
  return job->scratch && !job->gpu && plan->level >= SANDBOX_BUBBLEWRAP ? 0 : job->file_bytes;
}

static bool set_limits(const SandboxJob *job, const Plan *plan) {
  bool set =
      limit(RLIMIT_CPU, (rlim_t)sandbox_processor_seconds(job) + 1); // threads add up; the wall clock is the real limit
  set &= limit(RLIMIT_DATA, job->gpu ? RLIM_INFINITY : job->memory);
  set &= limit(RLIMIT_AS, job->address_space ? job->address_space : RLIM_INFINITY);
  set &= limit(RLIMIT_FSIZE, file_bytes(job, plan)) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, DESCRIPTORS);
  set &= limit(RLIMIT_STACK, 8 << 20) && limit(RLIMIT_MSGQUEUE, 0) && limit(RLIMIT_NPROC, plan->process_limit);
  return set;
}

// 0: stdin, nothing. 1 and 2: the output. 3: the socket. For bubblewrap 4 and 5 (it closes them). Else nothing is open but the
// pipe that says that the command could not be executed; executing it closes that.
static bool set_descriptors(Ends *ends, int filter) {
  int null = open("/dev/null", O_RDONLY);
  int from[] = {null, ends->output, ends->output, ends->socket, filter, ends->bubblewrap, ends->start};
  enum { COUNT = sizeof from / sizeof from[0] };
  for (int i = 0; i < COUNT; i++) // all of them out of the way first
    if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD, 20)) < 0)
      return false;
  for (int i = 0; i < COUNT; i++) {
    if (from[i] < 0)
      close(i);
    else if (dup2(from[i], i) < 0)
      return false;
  }
  ends->start = STATUS_DESCRIPTOR;
  if (null < 0 || fcntl(STATUS_DESCRIPTOR, F_SETFD, FD_CLOEXEC) != 0)
    return false;
  if (syscall(SYS_close_range, STATUS_DESCRIPTOR + 1, ~0u, 0) == 0)
    return true;
  for (int d = STATUS_DESCRIPTOR + 1; d < (int)sysconf(_SC_OPEN_MAX); d++)
    close(d);
  return true;
}

// With nothing between the command and the machine's files, another user must be able to read what the job names.
static void check_readable(const SandboxJob *job, const Ends *ends) {
  for (int i = 0; i < SANDBOX_PATHS && job->readable[i]; i++)
    if (access(job->readable[i], R_OK) != 0 && errno == EACCES)
      sandbox_give_up(ends, job->readable[i]);
}

// ---- capabilities --------------------------------------------------------------------------------------------------------

static bool get_capabilities(struct __user_cap_data_struct data[2]) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  return syscall(SYS_capget, &header, data) == 0;
}

// The bounding set holds what executing a program could give. Who has no capability cannot change it, and gains nothing from it:
// there are no new privileges.
static bool drop_bounding_set(void) {
  for (int c = 0; c <= LAST_CAPABILITY; c++)
    if (prctl(PR_CAPBSET_READ, c) == 1 && prctl(PR_CAPBSET_DROP, c) != 0)
      return errno == EPERM && geteuid() != 0;
  return true;
}

static bool drop_capabilities(void) {
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct none[2] = {{0}};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); // older kernels have none
  return syscall(SYS_capset, &header, none) == 0;
}

static bool become(uid_t user) {
  return setgroups(0, NULL) == 0 && setresgid(user, user, user) == 0 && setresuid(user, user, user) == 0;
}

// Root, or a capability that is left, would make nothing of all the rest.
static bool is_powerless(void) {
  struct __user_cap_data_struct has[2];
  uid_t real, effective, saved;
  if (getresuid(&real, &effective, &saved) != 0 || !get_capabilities(has))
    return false;
  unsigned left = 0;
  for (int i = 0; i < 2; i++)
    left |= has[i].effective | has[i].permitted | has[i].inheritable;
  errno = EPERM;
  return real != 0 && effective != 0 && saved != 0 && left == 0 && prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
}

static void drop_everything(const SandboxJob *job, const Ends *ends, const Plan *plan) {
  bool own_files = plan->protections & PROTECT_MOUNT_NAMESPACE;
  if (!set_limits(job, plan))
    sandbox_give_up(ends, "limits");
  if (!drop_bounding_set())
    sandbox_give_up(ends, "capabilities");
  if (plan->protections & PROTECT_OTHER_USER && geteuid() == 0 && !become(plan->user))
    sandbox_give_up(ends, "another user");
  if (plan->protections & PROTECT_OTHER_USER && !own_files)
    check_readable(job, ends);
  if (!drop_capabilities())
    sandbox_give_up(ends, "capabilities");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    sandbox_give_up(ends, "prctl");
  if (plan->protections & PROTECT_LANDLOCK && !sandbox_enter_landlock(job))
    sandbox_give_up(ends, "Landlock");
}

// ---- the end of it -------------------------------------------------------------------------------------------------------

// bubblewrap needs what the filter refuses, so it puts the filter in place itself, reading it from a pipe.
static int filter_in_a_pipe(const SystemCallFilter *filter) {
  int ends[2];
  if (pipe(ends) != 0 || write(ends[1], filter->program, filter->bytes) != (ssize_t)filter->bytes)
    return -1;
  close(ends[1]);
  return ends[0];
}

_Noreturn void sandbox_be_command(const SandboxJob *job, const Ends *of_supervisor, const Plan *plan) {
  Ends own = *of_supervisor, *ends = &own;
  SystemCallFilter filter;
  sigset_t none;
  int in_pipe = -1, started = 0;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int s = 1; s < NSIG; s++)
    signal(s, SIG_DFL);
  setsid();
  drop_everything(job, ends, plan);
  if (chdir(job->folder) != 0)
    sandbox_give_up(ends, job->folder);
  bool filtered = plan->protections & PROTECT_SYSTEM_CALLS, wrapped = plan->level == SANDBOX_BUBBLEWRAP;
  const bool apart = plan->level <= SANDBOX_BUBBLEWRAP;
  if (filtered && (!sandbox_filter(job->gpu, apart, &filter) || (wrapped && (in_pipe = filter_in_a_pipe(&filter)) < 0)))
    sandbox_give_up(ends, "a filter of system calls");
  const char *const *argv = wrapped ? sandbox_bubblewrap(job) : job->argv;
  if (!argv)
    sandbox_give_up(ends, "bubblewrap");
  if (!set_descriptors(ends, in_pipe))
    sandbox_give_up(ends, "descriptors");
  if (filtered && !wrapped && !sandbox_enter_filter(&filter))
    sandbox_give_up(ends, "a filter of system calls");
  if (!is_powerless())
    sandbox_give_up(ends, "it would have kept privileges");
  if (write(ends->start, &started, sizeof started) == (ssize_t)sizeof started)
    execve(argv[0], (char *const *)argv, (char *const *)job->environment);
  sandbox_give_up(ends, argv[0]);
}
