// SPDX-License-Identifier: MIT
// Parallel loops whose workers sleep in between: each iteration runs once, and the cores that the threads may run on stay the same.
//
// run check: OMP_NUM_THREADS=3 FERRY_CUDA=off
// tsan
#include "base/threads.h"
#include "core/nn/check.h"
#include <dirent.h>
#include <sched.h>
#include <time.h>

enum { LOOPS = 400, ITERATIONS = 1000, SLEEPS = 5 };

static void count(int64_t begin, int64_t end, void *context) {
  int *counts = context;
  for (int64_t i = begin; i < end; i++)
    counts[i]++;
}

static void expect_cores(const cpu_set_t *wanted) {
  DIR *threads = opendir("/proc/self/task");
  assert_non_null(threads);
  for (struct dirent *entry; (entry = readdir(threads));) {
    cpu_set_t set;
    if (entry->d_name[0] != '.' && sched_getaffinity(atoi(entry->d_name), sizeof set, &set) == 0)
      assert_true(CPU_EQUAL(&set, wanted));
  }
  closedir(threads);
}

static void test_workers_that_sleep(void **state) {
  (void)state;
  static int counts[ITERATIONS];
  cpu_set_t cores;
  assert_int_equal(sched_getaffinity(0, sizeof cores, &cores), 0);
  for (int loop = 0; loop < LOOPS; loop++) {
    fy_parallel_for(ITERATIONS, 1, count, counts);
    if (loop % (LOOPS / SLEEPS) == 0)
      nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
  }
  for (int i = 0; i < ITERATIONS; i++)
    assert_int_equal(counts[i], LOOPS);
  expect_cores(&cores);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_workers_that_sleep)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
