// SPDX-License-Identifier: MIT
// The sandbox when the machine lets it down: no descriptors, no processes, no memory, once or for good. A run then has all the
// protections of the level that was chosen, or there is no run.
//
// The functions of the system that it calls are wrapped by the linker (--wrap), here and in the processes that it starts.
#include "sandbox_impl.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <cmocka.h>

// ---- calls that fail ---------------------------------------------------------------------------------------------------

enum { PIPE, SOCKETPAIR, FORK, CLONE, MOUNT, LIMIT, SETUID, EXECUTE, CALLS };
static const char *const call_names[] = {"pipe2", "socketpair", "fork",      "clone",
                                         "mount", "setrlimit",  "setresuid", "execve"};

// Shared with the processes that the sandbox starts.
static struct Faults {
  int call, error;  // error 0: none fails
  int first, count; // which of them fail
  int seen;
  unsigned strongest; // the protections where nothing fails
} * faults;

static void set_faults(int call, int error, int first, int count) {
  faults->call = call;
  faults->error = error;
  faults->first = first;
  faults->count = count;
  faults->seen = 0;
}

static int fails(int call) {
  if (faults->error == 0 || faults->call != call)
    return 0;
  int n = __atomic_fetch_add(&faults->seen, 1, __ATOMIC_SEQ_CST);
  if (n < faults->first || n - faults->first >= faults->count)
    return 0;
  errno = faults->error;
  return -1;
}

int __real_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags);
int __wrap_pipe2(int ends[2], int flags) {
  return fails(PIPE) ? -1 : __real_pipe2(ends, flags);
}

int __real_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]);
int __wrap_socketpair(int domain, int type, int protocol, int ends[2]) {
  return fails(SOCKETPAIR) ? -1 : __real_socketpair(domain, type, protocol, ends);
}

pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void) {
  return fails(FORK) ? -1 : __real_fork();
}

long __real_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f);
long __wrap_syscall(long number, long a, long b, long c, long d, long e, long f) {
  return number == SYS_clone && fails(CLONE) ? -1 : __real_syscall(number, a, b, c, d, e, f);
}

int __real_mount(const char *from, const char *to, const char *kind, unsigned long flags, const void *data);
int __wrap_mount(const char *from, const char *to, const char *kind, unsigned long flags, const void *data);
int __wrap_mount(const char *from, const char *to, const char *kind, unsigned long flags, const void *data) {
  return fails(MOUNT) ? -1 : __real_mount(from, to, kind, flags, data);
}

int __real_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit);
int __wrap_setrlimit(int resource, const struct rlimit *limit) {
  return fails(LIMIT) ? -1 : __real_setrlimit(resource, limit);
}

int __real_setresuid(uid_t real, uid_t effective, uid_t saved);
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved);
int __wrap_setresuid(uid_t real, uid_t effective, uid_t saved) {
  return fails(SETUID) ? -1 : __real_setresuid(real, effective, saved);
}

int __real_execve(const char *path, char *const *argv, char *const *environment);
int __wrap_execve(const char *path, char *const *argv, char *const *environment);
int __wrap_execve(const char *path, char *const *argv, char *const *environment) {
  return fails(EXECUTE) ? -1 : __real_execve(path, argv, environment);
}

// Waiting for better times is made shorter.
int __real_nanosleep(const struct timespec *wanted, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *wanted, struct timespec *rest) {
  long most = wanted->tv_sec > 0 || wanted->tv_nsec > 2000000 ? 2000000 : wanted->tv_nsec;
  return __real_nanosleep(&(struct timespec){.tv_nsec = most}, rest);
}

// ---- starts --------------------------------------------------------------------------------------------------------------

static const uint8_t request[16]; // nobody reads it

static SandboxResult run(const char *folder) {
  static const char *const argv[] = {"/bin/sh", "-c", "echo here; exit 7", NULL}, *const environment[] = {NULL};
  SandboxJob job = {.argv = argv,
                    .environment = environment,
                    .folder = folder,
                    .scratch = true,
                    .request = request,
                    .request_bytes = sizeof request,
                    .seconds = 10,
                    .memory = 256u << 20,
                    .file_bytes = 1 << 20,
                    .output_bytes = 4096,
                    .lines = 5};
  return sandbox_run(&job);
}

static bool ran(const SandboxResult *r) {
  return r->end == SANDBOX_EXITED && r->status == 7 && r->output && strcmp(r->output, "here\n") == 0;
}

// With the `first`th and the following `count` of these calls failing. All as it was before, or no run at all.
static void run_with_fault(const char *folder, unsigned protections, int call, int error, int first, int count) {
  set_faults(call, error, first, count);
  SandboxResult r = run(folder);
  int seen = faults->seen;
  faults->error = 0;
  bool as_ever = ran(&r) && r.protections == protections;
  bool refused = r.end == SANDBOX_NOT_STARTED && r.output && *r.output;
  if (!as_ever && !(refused && count > 1)) {
    printf("# %s: %s fails %d times from the %dth of %d on: end %d, status %d, protections %x not %x, said %s\n",
           sandbox_chosen(), call_names[call], count, first, seen, (int)r.end, r.status, r.protections, protections,
           r.output ? r.output : "");
    exit(1);
  }
  sandbox_result_free(&r);
}

static void sweep_faults(const char *folder, unsigned protections) {
  static const int errors[] = {EAGAIN, EMFILE, EPERM};
  for (int call = 0; call < CALLS; call++) {
    set_faults(call, EAGAIN, 1 << 20, 0);
    SandboxResult r = run(folder);
    int made = faults->seen;
    sandbox_result_free(&r);
    printf("# %s: %d times %s\n", sandbox_chosen(), made, call_names[call]);
    for (int i = 0; i<made; i += made> 12 ? made / 6 : 1)
      run_with_fault(folder, protections, call, EAGAIN, i, 1);
    for (int e = 0; made > 0 && e < 3; e++)
      run_with_fault(folder, protections, call, errors[e], 0, 1 << 20);
  }
  faults->error = 0;
  SandboxResult r = run(folder);
  if (!ran(&r) || r.protections != protections) {
    printf("# %s: afterwards it is another: %x not %x\n", sandbox_chosen(), r.protections, protections);
    exit(1);
  }
  sandbox_result_free(&r);
}

// Each level in a process of its own, since it is chosen once.
static bool in_process(void (*test)(const char *level), const char *level) {
  int status;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    test(level);
    exit(0);
  }
  return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void sweep_level(const char *level) {
  char why[768], folder[256];
  if (!sandbox_choose(level, false, why, sizeof why)) {
    printf("# %s: %s\n", level, why);
    exit(0);
  }
  if (!sandbox_folder(folder, sizeof folder))
    exit(2);
  SandboxResult r = run(folder);
  if (!ran(&r))
    exit(3);
  sweep_faults(folder, r.protections);
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
}

static void test_a_failed_start_lowers_nothing(void **state) {
  (void)state;
  for (int i = 0; i < SANDBOX_LEVELS; i++)
    assert_true(in_process(sweep_level, sandbox_level_name((SandboxLevel)i)));
}

static char place[128];       // where everything happens: $TMPDIR
static const char *strongest; // what is chosen where nothing fails

static bool is_strongest(void) {
  char folder[256];
  faults->error = 0;
  if (strcmp(sandbox_chosen(), strongest) != 0 || !sandbox_folder(folder, sizeof folder))
    return false;
  SandboxResult r = run(folder);
  bool same = ran(&r) && r.protections == faults->strongest;
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
  return same;
}

static void choose_with_fault(const char *unused) {
  char why[768] = "";
  (void)unused;
  bool chosen = sandbox_choose(NULL, false, why, sizeof why), once = faults->count == 1;
  if (chosen ? !is_strongest() : once || !*why) {
    printf("# %s, call %d and %d more: chose '%s', said '%s'\n", call_names[faults->call], faults->first,
           faults->count - 1, sandbox_chosen(), why);
    exit(1);
  }
  faults->error = 0; // what could not be found out then is found out now
  if (!sandbox_choose(NULL, false, why, sizeof why) || !is_strongest())
    exit(2);
}

static void test_a_failed_trial_lowers_nothing(void **state) {
  (void)state;
  for (int call = 0; call < CALLS; call++)
    for (int first = 0; first < 3; first++) {
      set_faults(call, EAGAIN, first, 1);
      assert_true(in_process(choose_with_fault, NULL));
      set_faults(call, ENOMEM, first, 1 << 20);
      assert_true(in_process(choose_with_fault, NULL));
    }
  faults->error = 0;
}

static void ask_for_what_is_not_there(const char *unused) {
  char why[768] = "", folder[256];
  (void)unused;
  set_faults(CLONE, EPERM, 0, 1 << 20); // no namespaces here
  if (sandbox_choose("namespaces", false, why, sizeof why) || !*why || !sandbox_folder(folder, sizeof folder))
    exit(1);
  SandboxResult r = run(folder);
  if (r.end != SANDBOX_NOT_STARTED || *sandbox_chosen())
    exit(2);
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
}

static void test_what_was_asked_for_is_not_replaced(void **state) {
  (void)state;
  assert_true(in_process(ask_for_what_is_not_there, NULL));
  faults->error = 0;
}

// Processes that compute add up: together they have what a job may have, long before its wall clock ends it.
static void compute_in_four(const char *unused) {
  static const char *const argv[] = {"/bin/sh", "-c", "for i in 1 2 3 4; do while :; do :; done & done; wait", NULL};
  static const char *const environment[] = {NULL};
  char why[768] = "", folder[256];
  (void)unused;
  faults->error = 0;
  if (!sandbox_choose(NULL, false, why, sizeof why) || !sandbox_folder(folder, sizeof folder))
    exit(1);
  SandboxJob job = {.argv = argv,
                    .environment = environment,
                    .folder = folder,
                    .scratch = true,
                    .seconds = 60,
                    .processor_seconds = 1,
                    .memory = 256u << 20,
                    .file_bytes = 1 << 20,
                    .output_bytes = 4096};
  SandboxResult r = sandbox_run(&job);
  if (r.end != SANDBOX_TIMEOUT || r.seconds > 50 || r.processor_seconds < 1) {
    printf("# end %d after %g s, %g s of a processor\n", (int)r.end, r.seconds, r.processor_seconds);
    exit(2);
  }
  sandbox_result_free(&r);
  sandbox_folder_remove(folder);
}

static void test_processes_compute_for_a_bounded_time(void **state) {
  (void)state;
  assert_true(in_process(compute_in_four, NULL));
}

static void refuse_everything(const char *unused) {
  char why[768] = "";
  (void)unused;
  set_faults(LIMIT, EPERM, 0, 1 << 20);
  if (sandbox_choose(NULL, false, why, sizeof why) || !strstr(why, "--sandbox none"))
    exit(1);
}

static void test_no_protection_is_never_a_default(void **state) {
  (void)state;
  assert_true(in_process(refuse_everything, NULL));
  faults->error = 0;
}

// A bug here once changed the root of the whole machine. So it is tried in a mount namespace apart, which is said to be the
// grader's: there it has to refuse.
static void test_no_other_root_in_the_graders_namespace(void **state) {
  (void)state;
  int status;
  pid_t pid = fork();
  if (pid == 0) {
    Plan plan = {.level = SANDBOX_NAMESPACES};
    SandboxJob job = {.folder = "/tmp"};
    if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0)
      _exit(77);
    plan.outside = sandbox_mount_namespace();
    bool refused = plan.outside != 0 && !sandbox_enter_files(&job, &plan) && errno == EPERM;
    plan.outside = 0; // nor where it cannot be told
    _exit(refused && !sandbox_enter_files(&job, &plan) && access("/proc/self/exe", F_OK) == 0 ? 0 : 1);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    skip(); // no namespaces are permitted here
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// ---- all of it -------------------------------------------------------------------------------------------------------------

static int find_strongest(void **state) {
  int ends[2];
  static char name[32];
  (void)state;
  faults = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  snprintf(place, sizeof place, "%s/test_sandbox-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
  if (faults == MAP_FAILED || !mkdtemp(place) || chmod(place, 01777) != 0 || pipe(ends) != 0)
    return -1;
  setenv("TMPDIR", place, 1);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  if (__real_fork() == 0) {
    char why[768];
    bool chosen = sandbox_choose(NULL, false, why, sizeof why);
    SandboxResult r = run(place);
    faults->strongest = r.protections;
    if (write(ends[1], sandbox_chosen(), strlen(sandbox_chosen())) < 0 || !chosen)
      fprintf(stderr, "%s\n", why);
    _exit(0);
  }
  close(ends[1]);
  ssize_t n = read(ends[0], name, sizeof name - 1);
  close(ends[0]);
  wait(NULL);
  strongest = name;
  printf("# the strongest level here: %s\n", n > 0 ? name : "none");
  return n > 0 ? 0 : -1;
}

static int clean_up(void **state) {
  char command[300];
  (void)state;
  snprintf(command, sizeof command, "rm -rf '%s'", place);
  return system(command);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_failed_start_lowers_nothing),
      cmocka_unit_test(test_a_failed_trial_lowers_nothing),
      cmocka_unit_test(test_what_was_asked_for_is_not_replaced),
      cmocka_unit_test(test_no_protection_is_never_a_default),
      cmocka_unit_test(test_processes_compute_for_a_bounded_time),
      cmocka_unit_test(test_no_other_root_in_the_graders_namespace),
  };
  return cmocka_run_group_tests(tests, find_strongest, clean_up);
}
