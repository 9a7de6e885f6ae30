// SPDX-License-Identifier: MIT
// Indices and targets out of range on CUDA: the kernel asserts, and the next call that waits says so, as in PyTorch. A failed
// assert ends the use of the device, so that each runs in a process of its own.
//
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads
// run check: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=sync
#include "core/nn/check.h"
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static char output[1 << 16];

// What went wrong in the child is in its exit status; what it printed is in `output`.
static int run_apart(void (*body)(void)) {
  int ends[2], status;
  size_t length = 0;
  assert_int_equal(pipe(ends), 0);
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  for (ssize_t got; (got = read(ends[0], output + length, sizeof output - 1 - length)) > 0;)
    length += (size_t)got;
  output[length] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static FyTensor *indices(int64_t last, FyDType dtype) {
  return fy_to(fy_tensor(((int64_t[]){0, 1, last}), fy_shape(3)), fy_device("cuda"), .dtype = dtype);
}

static FyTensor *matrix(void) {
  return fy_ones(fy_shape(4, 3), .device = fy_device("cuda"));
}

// Runs the statement, which must not wait for the GPU by itself, and waits: 0 if the error is the assert's.
#define EXPECT_ASSERT(...)                                                                                             \
  do {                                                                                                                 \
    FyError error;                                                                                                     \
    fy_trap(error) {                                                                                                   \
      __VA_ARGS__;                                                                                                     \
      fy_synchronize(fy_device("cuda"));                                                                               \
    }                                                                                                                  \
    if (error.kind != FY_RUNTIME_ERROR || !strstr(error.message, "device-side assert triggered"))                      \
      _exit(error.kind ? 2 : 1);                                                                                       \
  } while (0)

static void select_beyond(void) {
  EXPECT_ASSERT(fy_index_select(matrix(), 0, indices(4, FY_INT64)));
}
static void select_before(void) {
  EXPECT_ASSERT(fy_index_select(matrix(), 1, indices(-1, FY_INT32)));
}
static void embed_beyond(void) {
  EXPECT_ASSERT(fy_embedding(indices(4, FY_INT64), matrix()));
}
static void target_beyond(void) {
  EXPECT_ASSERT(fy_cross_entropy(fy_narrow(matrix(), 0, 0, 3), indices(3, FY_INT64)));
}
static void target_before(void) {
  EXPECT_ASSERT(fy_cross_entropy(fy_narrow(matrix(), 0, 0, 3), indices(-1, FY_INT64), .reduction = FY_REDUCE_NONE));
}
// In range: nothing asserts, the last index and the ignored target included.
static void in_range(void) {
  fy_index_select(matrix(), 0, indices(3, FY_INT64));
  fy_embedding(indices(3, FY_INT32), matrix());
  fy_cross_entropy(fy_narrow(matrix(), 0, 0, 3), indices(-100, FY_INT64));
  fy_synchronize(fy_device("cuda"));
}

static void expect_assert(void (*body)(void), const char *assertion) {
  int status = run_apart(body);
  if (status != 0)
    fail_msg("the child ended with %d and printed:\n%s", status, output);
  if (!strstr(output, assertion) || !strstr(output, ": block: ["))
    fail_msg("no \"%s\" in:\n%s", assertion, output);
}

static void test_index_out_of_range(void **state) {
  (void)state;
  expect_assert(select_beyond, "Assertion `from >= 0 && from < s.n` failed.");
  expect_assert(select_before, "Assertion `from >= 0 && from < s.n` failed.");
  expect_assert(embed_beyond, "Assertion `from >= 0 && from < s.n` failed.");
}

static void test_target_out_of_range(void **state) {
  (void)state;
  expect_assert(target_beyond, "Assertion `t == ignore_index || (t >= 0 && t < classes)` failed.");
  expect_assert(target_before, "Assertion `t == ignore_index || (t >= 0 && t < classes)` failed.");
}

static void test_in_range(void **state) {
  (void)state;
  assert_int_equal(run_apart(in_range), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_index_out_of_range),
      cmocka_unit_test(test_target_out_of_range),
      cmocka_unit_test(test_in_range),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
