// SPDX-License-Identifier: MIT
// One attempt to start a command in its sandbox: parent -> supervisor -> command.
//
// The supervisor is the first process of a new PID namespace where the plan has one: when it ends, the kernel ends everything
// in it. Elsewhere it is a subreaper: orphans become its children, and the parent sweeps /proc for them. It stays what the
// grader is; the command below it loses everything it does not need.
#include "sandbox_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, START_SECONDS = 30, KERNEL_BYTES = 64 << 20 };

// What comes through the pipe `start`: an int of 0 when all of the plan is in force, and nothing after it when the command has
// been executed; else this, and then the pipe is closed.
typedef struct Failure {
  int error;
  char what[200];
} Failure;

_Noreturn void sandbox_give_up(const Ends *ends, const char *what) {
  Failure failure = {.error = errno ? errno : EIO};
  snprintf(failure.what, sizeof failure.what, "%s: %s", what, strerror(errno));
  if (write(ends->start, &failure, sizeof failure) < 0) {
  }
  _exit(126);
}

// ---- the supervisor ------------------------------------------------------------------------------------------------------

static bool write_file(const char *path, const char *text) {
  int file = open(path, O_WRONLY | O_CLOEXEC);
  bool written = file >= 0 && write(file, text, strlen(text)) == (ssize_t)strlen(text);
  int error = errno;
  if (file >= 0)
    close(file);
  errno = error;
  return written;
}

// In a user namespace of our own we are who we were outside, with every right over the namespaces made with it; who is called
// root outside, and has no other user to become, is called nobody.
static bool map_user(uid_t user, gid_t group) {
  char line[64];
  prctl(PR_SET_DUMPABLE, 1); // the files below belong to root otherwise
  snprintf(line, sizeof line, "%u %u 1", user ? user : NOBODY, user);
  if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", line))
    return false;
  snprintf(line, sizeof line, "%u %u 1", group ? group : NOBODY, group);
  return write_file("/proc/self/gid_map", line);
}

static void report(const Ends *ends, int status) {
  if (write(ends->status, &status, sizeof status) < 0)
    _exit(1);
}

static _Noreturn void watch_command(const Ends *ends, const Plan *plan, pid_t command) {
  for (;;) {
    int status;
    pid_t ended = waitpid(-1, &status, 0);
    if (ended != command)
      continue;
    report(ends, status);
    if (plan->protections & PROTECT_PID_NAMESPACE)
      _exit(0);
    for (;;) // orphans stay ours until the grader has swept them; the dead among them would be waited for in vain
      if (waitpid(-1, NULL, 0) < 0)
        pause();
  }
}

static void close_open(int descriptor) {
  if (descriptor >= 0)
    close(descriptor);
}

// The supervisor dies with the grader. One that died before the kernel was told so is known by its end of the pipe, which nobody
// holds any more: not this process either, that has it from the fork.
static void die_with_grader(const Ends *ends, const Started *graders, int graders_start) {
  struct pollfd status = {.fd = ends->status};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_open(graders->status);
  close_open(graders->output);
  close_open(graders->socket);
  close_open(graders->bubblewrap);
  close_open(graders_start);
  if (poll(&status, 1, 0) > 0 && status.revents & POLLERR)
    _exit(1);
}

static _Noreturn void be_supervisor(const SandboxJob *job, const Ends *ends, const Plan *plan, const Cgroup *cgroup,
                                    uid_t user, gid_t group) {
  if (!sandbox_cgroup_enter(cgroup))
    sandbox_give_up(ends, "cgroup");
  if ((plan->protections & PROTECT_USER_NAMESPACE) && !map_user(user, group))
    sandbox_give_up(ends, "user namespace");
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (plan->namespaces && !sandbox_enter_files(job, plan))
    sandbox_give_up(ends, "mount namespace");
  pid_t command = fork();
  if (command == 0)
    sandbox_be_command(job, ends, plan);
  if (command < 0)
    sandbox_give_up(ends, "fork");
  close(ends->start);
  close(ends->output);
  if (ends->socket >= 0)
    close(ends->socket);
  if (ends->bubblewrap >= 0)
    close(ends->bubblewrap);
  watch_command(ends, plan, command);
}

// ---- in the grader -------------------------------------------------------------------------------------------------------

static bool open_pair(bool wanted, int *parents, int *childs) {
  int ends[2];
  if (!wanted)
    return true;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return false;
  *parents = ends[0];
  *childs = ends[1];
  return true;
}

static bool open_pipes(const SandboxJob *job, const Plan *plan, Ends *ends, Started *started, int *start) {
  int sockets[2] = {-1, -1};
  if (!open_pair(true, &started->status, &ends->status) || !open_pair(true, &started->output, &ends->output) ||
      !open_pair(true, start, &ends->start) ||
      !open_pair(plan->level == SANDBOX_BUBBLEWRAP, &started->bubblewrap, &ends->bubblewrap))
    return false;
  if (job->request && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return false;
  started->socket = sockets[0];
  ends->socket = sockets[1];
  return true;
}

static void close_ends(const Ends *ends) {
  close_open(ends->status);
  close_open(ends->start);
  close_open(ends->output);
  close_open(ends->socket);
  close_open(ends->bubblewrap);
}

static unsigned long clone_flags(const Plan *plan) {
  unsigned long flags = SIGCHLD;
  flags |= plan->namespaces ? CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC : 0;
  flags |= plan->protections & PROTECT_USER_NAMESPACE ? CLONE_NEWUSER : 0;
  return flags;
}

static pid_t clone_now(unsigned long flags) {
  return (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
}

// Root makes the namespaces of another user by way of a process that has become that user. What this one makes is the grader's
// own child. It tells the new process's number, or the error as a negative one.
static pid_t fork_as(const Plan *plan) {
  int ends[2], number = -EIO;
  if (pipe2(ends, O_CLOEXEC) != 0)
    return -1;
  pid_t between = fork();
  if (between == 0) {
    bool other = setgroups(0, NULL) == 0 && setresgid(plan->user, plan->user, plan->user) == 0 &&
                 setresuid(plan->user, plan->user, plan->user) == 0;
    pid_t made = other ? clone_now(clone_flags(plan) | CLONE_PARENT) : -1;
    if (made == 0)
      return 0;
    number = made > 0 ? made : -errno;
    if (write(ends[1], &number, sizeof number) < 0)
      _exit(1);
    _exit(0);
  }
  int error = errno;
  close(ends[1]);
  if (between > 0 && read(ends[0], &number, sizeof number) != (ssize_t)sizeof number)
    number = -EIO;
  close(ends[0]);
  while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR) {
  }
  errno = between < 0 ? error : number < 0 ? -number : 0;
  return between < 0 || number < 0 ? -1 : number;
}

static pid_t fork_into(const Plan *plan) {
  fflush(NULL);
  bool other = plan->protections & PROTECT_OTHER_USER && plan->protections & PROTECT_USER_NAMESPACE;
  return other ? fork_as(plan) : clone_now(clone_flags(plan));
}

// Not for ever: what is being set up may hang, on a folder of another machine's for one.
static bool read_whole(int from, void *to, size_t bytes) {
  size_t done = 0;
  for (ssize_t n = 1; done < bytes && n != 0;) {
    struct pollfd there = {from, POLLIN, 0};
    if (poll(&there, 1, 1000 * START_SECONDS) == 0)
      return false;
    n = read(from, (char *)to + done, bytes - done);
    if (n < 0 && errno != EINTR)
      return false;
    done += n > 0 ? (size_t)n : 0;
  }
  return done == bytes;
}

static bool is_closed(int from) {
  struct pollfd there = {from, POLLIN, 0};
  char byte;
  errno = ETIMEDOUT;
  return poll(&there, 1, 0) == 1 && read(from, &byte, 1) == 0;
}

// Waits until the command is executed: true; or will not be: errno says why, 0 when nobody does.
static bool has_started(int start, char *why, size_t bytes) {
  Failure failure = {0};
  if (!read_whole(start, &failure.error, sizeof failure.error)) {
    snprintf(why, bytes, "the process to run it in ended at once");
    errno = 0;
    return false;
  }
  int word = 0;
  bool in_force = failure.error == 0;
  if (in_force && !read_whole(start, &word, sizeof word))
    return is_closed(start);
  failure.error = in_force ? word : failure.error;
  read_whole(start, failure.what, sizeof failure.what);
  snprintf(why, bytes, "%.*s", (int)sizeof failure.what - 1, failure.what);
  errno = failure.error;
  return false;
}

static void abandon(Started *started, pid_t pid) {
  int error = errno;
  if (pid > 0) {
    sandbox_tree_kill(pid);
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  close_open(started->status);
  close_open(started->output);
  close_open(started->socket);
  close_open(started->bubblewrap);
  sandbox_cgroup_remove(&started->cgroup);
  *started = (Started){.error = error};
}

// Beside the processes' own memory, which is sampled: files in memory, the supervisor, and what the kernel has of them. A GPU's driver
// counts memory of its own.
static size_t cgroup_memory(const SandboxJob *job) {
  return job->gpu ? 0 : job->memory + SCRATCH_BYTES + KERNEL_BYTES;
}

Started sandbox_attempt(const SandboxJob *job, const Plan *plan, char *why, size_t bytes) {
  Started started = {.status = -1, .output = -1, .socket = -1, .bubblewrap = -1, .protections = plan->protections};
  started.cgroup = (Cgroup){.entry = {-1, -1, -1, -1}};
  Ends ends = {-1, -1, -1, -1, -1};
  int start = -1;
  bool counted = plan->protections & PROTECT_CGROUP, other = plan->protections & PROTECT_OTHER_USER;
  uid_t user = other ? plan->user : geteuid();
  gid_t group = other ? plan->user : getegid();
  pid_t pid = -1;
  const char *doing = "pipes";
  bool ready = open_pipes(job, plan, &ends, &started, &start);
  if (ready && counted) {
    doing = "cgroup";
    ready = sandbox_cgroup_make((unsigned)plan->process_limit + 1, cgroup_memory(job), &started.cgroup);
  }
  if (ready) {
    doing = "clone";
    pid = fork_into(plan);
    if (pid == 0) {
      die_with_grader(&ends, &started, start);
      be_supervisor(job, &ends, plan, &started.cgroup, user, group);
    }
  }
  int error = errno;
  snprintf(why, bytes, "%s: %s", doing, strerror(error));
  close_ends(&ends);
  sandbox_cgroup_close(&started.cgroup);
  errno = error;
  if (pid > 0 && has_started(start, why, bytes))
    started.supervisor = pid;
  else
    abandon(&started, pid);
  close_open(start);
  return started;
}
