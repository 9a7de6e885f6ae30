// SPDX-License-Identifier: MIT
// Starting a test's own program as several ranks.
#include "ranks.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

char ranks_said[1 << 17];
double ranks_took;

void run_rank(int argc, char **argv, const RankCase *cases, int count) {
  if (argc < 3 || strcmp(argv[1], "--rank") != 0)
    return;
  for (int i = 0; i < count; i++)
    if (strcmp(cases[i].name, argv[2]) == 0) {
      cases[i].body();
      exit(0);
    }
  fprintf(stderr, "there is no case %s\n", argv[2]);
  exit(2);
}

const char *cannot_start_ranks(void) {
  static int there = -1;
  if (there < 0)
    there = system("command -v mpirun >/dev/null 2>&1") == 0 && access("build/libferry-mpi.so", R_OK) == 0;
  return there ? NULL : "needs Open MPI (mpirun, and mpicc when Ferry was built)";
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Open MPI keeps memory of its own to the end, which a leak sanitizer would report.
int start_ranks(int n, const char *name, const char *environment, bool go_on, int seconds) {
  char self[1024], command[4096];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  snprintf(command, sizeof command,
           "env OMP_NUM_THREADS=1 ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 %s timeout -k 5 %d mpirun "
           "--allow-run-as-root --oversubscribe --bind-to none %s -n %d "
           "'%s' --rank %s 2>&1 </dev/null",
           environment, seconds, go_on ? "--enable-recovery" : "", n, self, name);
  const double begin = now();
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t used = 0, got;
  while ((got = fread(ranks_said + used, 1, sizeof ranks_said - 1 - used, pipe)) > 0)
    used += got;
  ranks_said[used] = '\0';
  int status = pclose(pipe);
  ranks_took = now() - begin;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void expect_ranks(int n, const char *name, const char *environment) {
  int status = start_ranks(n, name, environment, false, 120);
  if (status != 0)
    fail_msg("%d ranks of %s (%s) ended with status %d and said:\n%s", n, name, environment, status, ranks_said);
}

void expect_said(const char *text) {
  if (!strstr(ranks_said, text))
    fail_msg("the ranks did not say\n%s\nbut\n%s", text, ranks_said);
}

void must_be(bool condition, const char *text, const char *file, int line) {
  if (condition)
    return;
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, text);
  _exit(9);
}

uint32_t mix(uint32_t a, uint32_t b) {
  uint32_t x = a * 2654435761u ^ (b + 0x9e3779b9u) * 2246822519u;
  x ^= x >> 15;
  x *= 2654435761u;
  return x ^ x >> 13;
}
