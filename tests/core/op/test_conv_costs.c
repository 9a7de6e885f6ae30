// SPDX-License-Identifier: MIT
// The costs by which the heuristic chooses a convolution's algorithm: measured once for a machine, stored, read again, or fixed.
//
// run check: FERRY_CUDA=off
#include "core/nn/check.h"
#include "base/sanitized.h"
#include "op/convolution/conv_costs.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test_conv_costs_XXXXXX";

// The costs in a process of its own, which asks for the first time.
static FyConvCosts ask(bool deterministic) {
  int ends[2], status;
  FyConvCosts costs = {0};
  assert_int_equal(pipe(ends), 0);
  const pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    fy_backends_set_deterministic(deterministic);
    costs = fy_conv_costs();
    _exit(write(ends[1], &costs, sizeof costs) == sizeof costs ? 0 : 1);
  }
  close(ends[1]);
  assert_int_equal(read(ends[0], &costs, sizeof costs), sizeof costs);
  close(ends[0]);
  waitpid(child, &status, 0);
  assert_int_equal(status, 0);
  return costs;
}

static void assert_fixed(FyConvCosts costs) {
  assert_true(costs.direct == 0.7 && costs.ways == 9);
}

// The number of files there; path: of the last.
static int stored_files(char *path, size_t size) {
  char inner[256];
  snprintf(inner, sizeof inner, "%s/ferry", folder);
  DIR *dir = opendir(inner);
  int count = 0;
  for (struct dirent *entry; dir && (entry = readdir(dir));)
    if (entry->d_name[0] != '.') {
      snprintf(path, size, "%.200s/%.200s", inner, entry->d_name);
      count++;
    }
  if (dir)
    closedir(dir);
  return count;
}

static void put(const char *path, const char *text) {
  FILE *f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static void test_fixed(void **state) {
  char path[512];
  (void)state;
  setenv("FERRY_CONV_COSTS", "off", 1);
  assert_fixed(ask(false));
  unsetenv("FERRY_CONV_COSTS");
  assert_fixed(ask(true));
  assert_int_equal(stored_files(path, sizeof path), 0);
}

static void test_stored(void **state) {
  char path[512];
  (void)state;
#ifdef FY_SANITIZED
  skip();
#endif
  const FyConvCosts measured = ask(false);
  assert_true(measured.direct >= 0.4 && measured.direct <= 1.5 && measured.ways >= 3 && measured.ways <= 30);
  assert_int_equal(stored_files(path, sizeof path), 1);
  const FyConvCosts again = ask(false);
  assert_true(again.direct == measured.direct && again.ways == measured.ways);
  put(path, "direct 0.5 ways 4\n");
  const FyConvCosts read = ask(false);
  assert_true(read.direct == 0.5 && read.ways == 4);
  put(path, "direct -1 ways"); // damaged: measured again
  const FyConvCosts repaired = ask(false);
  assert_true(repaired.direct >= 0.4 && repaired.ways >= 3);
  assert_int_equal(stored_files(path, sizeof path), 1);
  remove(path);
}

// Without a folder it is measured for the process.
static void test_no_folder(void **state) {
  (void)state;
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  const FyConvCosts costs = ask(false);
  assert_true(costs.direct >= 0.4 && costs.ways >= 3);
  setenv("XDG_CACHE_HOME", folder, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fixed),
      cmocka_unit_test(test_stored),
      cmocka_unit_test(test_no_folder),
  };
  char inner[256];
  if (!mkdtemp(folder))
    return 1;
  setenv("XDG_CACHE_HOME", folder, 1);
  unsetenv("FERRY_CONV_COSTS");
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  snprintf(inner, sizeof inner, "%s/ferry", folder);
  rmdir(inner);
  rmdir(folder);
  return failed;
}
