// SPDX-License-Identifier: MIT
// A command and all that it starts. Between it and the server is a supervisor: a process that orphans come back to, that the kernel tells
// when the server ends, however it ends, and that ends only when nothing is left below it.
#include "live/live.h"
#include "grader/sandbox.h"
#include "tool/compile/process.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_STARTED = 126, STOPPED = 137 }; // exit statuses as a shell has them

struct Child {
  pid_t supervisor;
  Watch end, output, result;
  const ChildEvents *events;
  void *owner;
  Child *next;
};

static Child *children;

// ---- in the supervisor -----------------------------------------------------------------------------------------------------------

static _Noreturn void become_command(const char *const argv[]) {
  sigset_t none;
  sigemptyset(&none);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execv(argv[0], (char **)(uintptr_t)argv);
  _exit(127);
}

// The command inherits these three, and nothing of the server's.
static bool keep_three(int input, int output, int result) {
  if (input < 0)
    input = open("/dev/null", O_RDONLY);
  return dup2(input, STDIN_FILENO) >= 0 && dup2(result, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0 &&
         close_range(3, ~0U, 0) == 0;
}

// Until the command has ended, or the server has, or wants it to. The exit status.
static int wait_for(pid_t command, const sigset_t *awaited) {
  for (;;) {
    int status;
    if (sigwaitinfo(awaited, NULL) == SIGTERM)
      return STOPPED;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      if (ended == command)
        return exit_status(status);
  }
}

static _Noreturn void supervise(pid_t server, const char *const argv[], int input, int output, int result) {
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGTERM);
  sigaddset(&awaited, SIGCHLD);
  sigprocmask(SIG_SETMASK, &awaited, NULL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  setsid();
  if (getppid() != server || !keep_three(input, output, result))
    _exit(NOT_STARTED);
  const pid_t command = fork();
  if (command == 0)
    become_command(argv);
  const int nothing = open("/dev/null", O_RDWR);
  const bool apart =
      dup2(nothing, STDIN_FILENO) >= 0 && dup2(nothing, STDOUT_FILENO) >= 0 && dup2(nothing, STDERR_FILENO) >= 0;
  const int code = command > 0 && apart ? wait_for(command, &awaited) : NOT_STARTED;
  sandbox_tree_kill(getpid());
  _exit(code);
}

// ---- in the server ---------------------------------------------------------------------------------------------------------------

static void close_watch(Watch *watch) {
  const int fd = watch->fd;
  loop_remove(watch);
  if (fd >= 0)
    close(fd);
}

// False at the end of the pipe.
static bool read_some(Child *child, Watch *watch) {
  char buffer[16384];
  const ssize_t n = read(watch->fd, buffer, sizeof buffer);
  if (n > 0)
    (watch == &child->output ? child->events->output : child->events->result)(child->owner, buffer, (size_t)n);
  else if (n == 0 || (errno != EAGAIN && errno != EINTR))
    close_watch(watch);
  return n > 0;
}

static void readable(Watch *watch, uint32_t events) {
  (void)events;
  read_some(watch->owner, watch);
}

static void forget(Child *child) {
  for (Child **at = &children; *at; at = &(*at)->next)
    if (*at == child) {
      *at = child->next;
      break;
    }
  close_watch(&child->end);
  close_watch(&child->output);
  close_watch(&child->result);
  free(child);
}

// Nothing is left below the supervisor, so what is in the pipes is all.
static void ended(Watch *watch, uint32_t events) {
  Child *child = watch->owner;
  int status;
  (void)events;
  if (waitpid(child->supervisor, &status, WNOHANG) != child->supervisor)
    return;
  while (child->output.fd >= 0 && read_some(child, &child->output)) {
  }
  while (child->result.fd >= 0 && read_some(child, &child->result)) {
  }
  const ChildEvents *told = child->events;
  void *owner = child->owner;
  forget(child);
  told->ended(owner, exit_status(status));
}

static bool make_pipe(int ends[2]) {
  return pipe2(ends, O_CLOEXEC) == 0 && fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

static void close_all(const int *fds, int count) {
  const int error = errno;
  for (int i = 0; i < count; i++)
    if (fds[i] >= 0)
      close(fds[i]);
  errno = error;
}

Child *child_start(const char *const argv[], int input, bool apart, const ChildEvents *events, void *owner) {
  int fds[4] = {-1, -1, -1, -1};
  Child *child = calloc(1, sizeof *child);
  const pid_t server = getpid();
  if (!child || !make_pipe(fds) || (apart && !make_pipe(fds + 2)) || (child->supervisor = fork()) < 0) {
    close_all(fds, 4);
    free(child);
    return NULL;
  }
  if (child->supervisor == 0)
    supervise(server, argv, input, fds[1], apart ? fds[3] : fds[1]);
  close_all((const int[]){fds[1], fds[3]}, 2);
  child->events = events;
  child->owner = owner;
  child->end = (Watch){(int)syscall(SYS_pidfd_open, child->supervisor, 0), ended, child};
  child->output = (Watch){fds[0], readable, child};
  child->result = (Watch){fds[2], readable, child};
  loop_add(&child->end, EPOLLIN);
  loop_add(&child->output, EPOLLIN);
  if (apart)
    loop_add(&child->result, EPOLLIN);
  child->next = children;
  children = child;
  return child;
}

void child_stop(Child *child) {
  kill(child->supervisor, SIGTERM);
}

void child_wait_for_all(void) {
  for (Child *child = children; child; child = child->next)
    child_stop(child);
  for (Child *child = children; child; child = child->next)
    while (waitpid(child->supervisor, NULL, 0) < 0 && errno == EINTR) {
    }
}
