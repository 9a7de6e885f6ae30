// SPDX-License-Identifier: MIT
// Runs what may end the program in a process of its own, and reads what it printed; for tests of the simulated CUDA runtime.
#ifndef TEST_SIM_APART_H
#define TEST_SIM_APART_H

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char output[1 << 16];

// The child's exit status; what it wrote to stderr is in `output`.
static inline int run_apart(void (*bug)(void)) {
  int ends[2], status;
  assert_int_equal(pipe(ends), 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    bug();
    _exit(0);
  }
  close(ends[1]);
  size_t length = 0;
  ssize_t got;
  while ((got = read(ends[0], output + length, sizeof output - 1 - length)) > 0)
    length += (size_t)got;
  output[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void expect_output(const char *text) {
  if (strstr(output, text) == NULL)
    fail_msg("no \"%s\" in:\n%s", text, output);
}

// In a child: the exit status tells which of the expectations failed.
static inline void expect(int number, bool good) {
  if (!good)
    _exit(number);
}

#endif
