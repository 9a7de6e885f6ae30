// SPDX-License-Identifier: MIT
// The process that an answer runs in ends when the grader is gone before it has asked for anything, whatever errno was left at.
// run:
#define main child_main
#include "child.c"
#undef main
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <cmocka.h>

// What is linked with it otherwise.
void buffers_run(Driver *d) {
  (void)d;
}
void buffers_count_begin(void) {
}
void buffers_counts(Counts *counts) {
  *counts = (Counts){0};
}
void sim_crash_init(void) {
}
void sim_crash_tell_addresses(void) {
}

static int ended_with(size_t bytes) {
  int ends[2], status;
  assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  assert_int_equal(write(ends[1], "12345678", bytes), (ssize_t)bytes);
  close(ends[1]);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[0], SOCKET);
    alarm(20);
    errno = EINTR;
    _exit(child_main());
  }
  close(ends[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void test_no_request(void **state) {
  (void)state;
  for (size_t bytes = 0; bytes < 8; bytes++)
    assert_int_equal(ended_with(bytes), DRIVER_DISAGREES);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_no_request)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
