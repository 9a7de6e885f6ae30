// SPDX-License-Identifier: MIT
#include "child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char child_output[16384];

static _Noreturn void be_child(const int ends[2], int (*body)(void *context), void *context) {
  dup2(ends[1], STDOUT_FILENO);
  dup2(ends[1], STDERR_FILENO);
  close(ends[0]);
  close(ends[1]);
  const int status = body(context);
  fflush(NULL);
  _exit(status);
}

// To the end, so that the child never waits for room.
static void collect(int end) {
  char rest[4096];
  size_t length = 0;
  ssize_t n;
  do {
    const size_t room = sizeof child_output - 1 - length;
    n = room ? read(end, child_output + length, room) : read(end, rest, sizeof rest);
    length += room && n > 0 ? (size_t)n : 0;
  } while (n > 0);
  child_output[length] = '\0';
}

int run_child(int (*body)(void *context), void *context) {
  int ends[2], status;
  if (pipe(ends) != 0)
    return -1;
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    be_child(ends, body, context);
  close(ends[1]);
  collect(ends[0]);
  close(ends[0]);
  if (child < 0 || waitpid(child, &status, 0) != child)
    return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void expect_child_wrote(const char *text) {
  if (!strstr(child_output, text))
    fail_msg("\"%s\" is not in \"%s\"", text, child_output);
}
