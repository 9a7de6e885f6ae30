// Starts a command in its sandbox: parent -> supervisor -> command.
//
// The supervisor is the first process of a new PID namespace where one can be had: when it ends, the kernel ends everything
// in it. Elsewhere it is a subreaper: orphans become its children, and the parent sweeps /proc for them. It stays what the
// grader is; the command below it loses everything it does not need.
#include "sandbox_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 64, DESCRIPTORS = 256, SETUP_FAILED = 1 << 30, STARTED = 1 << 29 };

enum { LEVEL_NAMESPACES, LEVEL_USER_NAMESPACE, LEVEL_BUBBLEWRAP, LEVEL_LANDLOCK, LEVEL_NONE, LEVELS };

// How one attempt to start goes about it.
typedef struct Plan {
  int level;
  unsigned protections; // reported when all of it is in force
  bool namespaces;      // of our own making: the supervisor is cloned into them
  uint64_t outside;     // the grader's own mount namespace
  uid_t user;           // who the command becomes, with PROTECT_OTHER_USER
  rlim_t process_limit; // 0: none that would hold
} Plan;

// The child's ends of the pipes.
typedef struct Ends {
  int status, output, socket;
} Ends;

uid_t sandbox_user(void) {
  return geteuid() == 0 ? (uid_t)(0x40000000 + getpid()) : geteuid();
}

// ---- in the command's process --------------------------------------------------------------------------------------------

static bool limit(int resource, rlim_t value) {
  struct rlimit old;
  if (getrlimit(resource, &old) == 0 && old.rlim_max < value)
    value = old.rlim_max;
  return setrlimit(resource, &(struct rlimit){value, value}) == 0;
}

static bool set_limits(const SandboxJob *job) {
  rlim_t seconds = (rlim_t)job->seconds + 2;
  bool set = limit(RLIMIT_CPU, 4 * seconds); // threads add up; the wall clock is the real limit
  set &= limit(RLIMIT_DATA, job->gpu ? RLIM_INFINITY : job->memory);
  set &= limit(RLIMIT_FSIZE, job->file_bytes) && limit(RLIMIT_CORE, 0) && limit(RLIMIT_NOFILE, DESCRIPTORS);
  set &= limit(RLIMIT_STACK, 8 << 20) && limit(RLIMIT_MSGQUEUE, 0);
  return set;
}

// 0: stdin, nothing. 1 and 2: the output. 3: the socket. Nothing else is open.
static bool set_descriptors(const Ends *ends) {
  int null = open("/dev/null", O_RDONLY);
  int output = fcntl(ends->output, F_DUPFD, 10), socket = ends->socket >= 0 ? fcntl(ends->socket, F_DUPFD, 10) : -1;
  if (null < 0 || output < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
    return false;
  if (socket >= 0 && dup2(socket, 3) < 0)
    return false;
  unsigned first = socket >= 0 ? 4 : 3;
  if (syscall(SYS_close_range, first, ~0u, 0) == 0)
    return true;
  for (int d = (int)first; d < (int)sysconf(_SC_OPEN_MAX); d++)
    close(d);
  return true;
}

static _Noreturn void give_up(const Ends *ends, const char *what) {
  int failed = SETUP_FAILED;
  dprintf(ends->output, "%s: %s\n", what, strerror(errno));
  if (write(ends->status, &failed, sizeof failed) < 0) {
  }
  _exit(126);
}

// With nothing between the command and the machine's files, another user must be able to read what the job names.
static void check_readable(const SandboxJob *job, const Ends *ends) {
  for (int i = 0; i < SANDBOX_PATHS && job->readable[i]; i++)
    if (access(job->readable[i], R_OK) != 0 && errno == EACCES)
      give_up(ends, job->readable[i]);
}

static void drop_everything(const SandboxJob *job, const Ends *ends, const Plan *plan) {
  if (!set_limits(job) || (plan->process_limit && !limit(RLIMIT_NPROC, plan->process_limit)))
    give_up(ends, "limits");
  if (plan->protections & PROTECT_OTHER_USER) {
    if (setgroups(0, NULL) != 0 || setresgid(plan->user, plan->user, plan->user) != 0 ||
        setresuid(plan->user, plan->user, plan->user) != 0)
      give_up(ends, "another user");
    if (!(plan->protections & PROTECT_MOUNT_NAMESPACE))
      check_readable(job, ends);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    give_up(ends, "prctl");
  if (plan->protections & PROTECT_LANDLOCK && !sandbox_enter_landlock(job))
    give_up(ends, "Landlock");
}

static _Noreturn void be_command(const SandboxJob *job, const Ends *ends, const Plan *plan) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int s = 1; s < NSIG; s++)
    signal(s, SIG_DFL);
  setsid();
  drop_everything(job, ends, plan);
  if (chdir(job->folder) != 0)
    give_up(ends, job->folder);
  int started = STARTED;
  if (write(ends->status, &started, sizeof started) < 0 || !set_descriptors(ends))
    _exit(126);
  const char *const *argv = plan->level == LEVEL_BUBBLEWRAP ? sandbox_bubblewrap(job) : job->argv;
  execve(argv[0], (char *const *)argv, (char *const *)job->environment);
  dprintf(2, "%s: %s\n", argv[0], strerror(errno));
  _exit(126);
}

// ---- the supervisor ------------------------------------------------------------------------------------------------------

static bool write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
  if (file >= 0)
    close(file);
  return written;
}

// In a user namespace of our own we are who we were outside, with every right over the namespaces made with it.
static bool map_user(uid_t user, gid_t group) {
  char line[64];
  prctl(PR_SET_DUMPABLE, 1); // the files below belong to root otherwise
  snprintf(line, sizeof line, "%u %u 1", user, user);
  if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", line))
    return false;
  snprintf(line, sizeof line, "%u %u 1", group, group);
  return write_file("/proc/self/gid_map", line);
}

static void report(const Ends *ends, int status) {
  if (write(ends->status, &status, sizeof status) < 0)
    _exit(1);
}

static _Noreturn void be_supervisor(const SandboxJob *job, const Ends *ends, const Plan *plan, uid_t user,
                                    gid_t group) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if ((plan->protections & PROTECT_USER_NAMESPACE) && !map_user(user, group))
    give_up(ends, "user namespace");
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (plan->namespaces && !sandbox_enter_files(job, plan->outside))
    give_up(ends, "mount namespace");
  pid_t command = fork();
  if (command == 0)
    be_command(job, ends, plan);
  if (command < 0)
    give_up(ends, "fork");
  for (;;) {
    int status;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended == command) {
      report(ends, status);
      if (plan->protections & PROTECT_PID_NAMESPACE)
        _exit(0);
      for (;;) // orphans stay ours until the grader has swept them; the dead among them would be waited for in vain
        if (waitpid(-1, NULL, 0) < 0)
          pause();
    }
  }
}

// ---- in the grader -------------------------------------------------------------------------------------------------------

static unsigned level_protections(int level) {
  unsigned namespaces = PROTECT_PID_NAMESPACE | PROTECT_MOUNT_NAMESPACE | PROTECT_NETWORK_NAMESPACE;
  unsigned always = PROTECT_LIMITS | PROTECT_NO_NEW_PRIVS | PROTECT_SUBREAPER;
  if (level == LEVEL_NAMESPACES)
    return always | namespaces;
  if (level == LEVEL_USER_NAMESPACE)
    return always | namespaces | PROTECT_USER_NAMESPACE;
  if (level == LEVEL_BUBBLEWRAP)
    return always | PROTECT_BUBBLEWRAP | PROTECT_MOUNT_NAMESPACE | PROTECT_NETWORK_NAMESPACE;
  if (level == LEVEL_LANDLOCK)
    return always | PROTECT_LANDLOCK | (sandbox_landlock_holds_signals() ? PROTECT_SIGNALS : 0);
  return always;
}

static bool open_pipes(const SandboxJob *job, Ends *ends, Started *started) {
  int status[2], output[2], sockets[2] = {-1, -1};
  if (pipe2(status, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
    return false;
  if (job->request && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return false;
  *ends = (Ends){status[1], output[1], sockets[1]};
  started->status = status[0];
  started->output = output[0];
  started->socket = sockets[0];
  return true;
}

static void close_all(int a, int b, int c) {
  close(a);
  close(b);
  if (c >= 0)
    close(c);
}

static pid_t fork_into(const Plan *plan) {
  unsigned long flags = SIGCHLD;
  flags |= plan->namespaces ? CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC : 0;
  flags |= plan->protections & PROTECT_USER_NAMESPACE ? CLONE_NEWUSER : 0;
  fflush(NULL);
  return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
}

// One attempt with one plan. The first word on the status pipe says whether everything that was planned is in force.
static Started attempt(const SandboxJob *job, const Plan *plan, char *why, size_t bytes) {
  Started started = {.protections = plan->protections};
  Ends ends;
  uid_t user = geteuid();
  gid_t group = getegid();
  if (!open_pipes(job, &ends, &started)) {
    snprintf(why, bytes, "pipes: %s", strerror(errno));
    return started;
  }
  pid_t pid = fork_into(plan);
  if (pid == 0)
    be_supervisor(job, &ends, plan, user, group);
  int error = errno, word = 0;
  close_all(ends.status, ends.output, ends.socket);
  if (pid > 0 && read(started.status, &word, sizeof word) == (ssize_t)sizeof word && word == STARTED) {
    started.supervisor = pid;
    return started;
  }
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
  }
  fcntl(started.output, F_SETFL,
        O_NONBLOCK); // a command that died before it could say why has left nothing to wait for
  ssize_t n = pid > 0 ? read(started.output, why, bytes - 1) : 0;
  if (n > 0)
    why[n - (why[n - 1] == '\n')] = '\0';
  else if (pid > 0)
    snprintf(why, bytes, "the process to run it in ended at once");
  else
    snprintf(why, bytes, "clone: %s", strerror(error));
  close_all(started.status, started.output, started.socket);
  return started;
}

static int first_level(void) {
  const char *wanted = getenv("FERRY_SANDBOX");
  static const char *const names[LEVELS] = {"namespaces", "user", "bubblewrap", "landlock", "none"};
  for (int i = 0; wanted && i < LEVELS; i++)
    if (strcmp(wanted, names[i]) == 0)
      return i;
  return geteuid() == 0 ? LEVEL_NAMESPACES : LEVEL_USER_NAMESPACE;
}

// What did not work once is not tried again: the level goes down, and another user is given up where it has to be.
Started sandbox_start(const SandboxJob *job, char *why, size_t bytes) {
  static int level = -1;
  static bool other_user = true;
  if (level < 0) {
    level = first_level();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_DUMPABLE, 0);
  }
  Started started = {0};
  for (;;) {
    if (level == LEVEL_USER_NAMESPACE && geteuid() == 0) // where root may make no namespaces, these are refused too
      level = LEVEL_BUBBLEWRAP;
    if (level == LEVEL_BUBBLEWRAP && !sandbox_bubblewrap(job))
      level = LEVEL_LANDLOCK;
    if (level == LEVEL_LANDLOCK && sandbox_landlock_version() == 0)
      level = LEVEL_NONE;
    Plan plan = {.level = level,
                 .protections = level_protections(level),
                 .namespaces = level == LEVEL_NAMESPACES || level == LEVEL_USER_NAMESPACE,
                 .outside = sandbox_mount_namespace(),
                 .user = sandbox_user()};
    bool drop = geteuid() == 0 && other_user && level != LEVEL_USER_NAMESPACE;
    plan.protections |= drop ? PROTECT_OTHER_USER : 0;
    if (geteuid() != 0 || drop) {
      plan.process_limit = (drop ? 0 : sandbox_processes_of(geteuid())) + PROCESSES;
      plan.protections |= PROTECT_PROCESSES;
    }
    started = attempt(job, &plan, why, bytes);
    if (started.supervisor > 0)
      return started;
    if (drop && level == LEVEL_NONE) {
      other_user = false;
      level = first_level() < LEVEL_LANDLOCK ? LEVEL_LANDLOCK : first_level();
    } else if (level < LEVEL_NONE)
      level++;
    else
      return started;
  }
}
