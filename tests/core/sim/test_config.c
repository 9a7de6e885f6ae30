// SPDX-License-Identifier: MIT
// The environment: each variable is obeyed, and a bad value is refused with its name and the remedy.
// run check: FERRY_SIM_DEVICES=2 FERRY_SIM_MODE=lazy
#include <unistd.h>

#include "check.h"
#include "child.h"
#include "sim/base/cudasim.h"

static int ask_for_devices(void) {
  int devices = 0;
  return cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 200;
}

static int ask_for_memory(void) {
  size_t available, total;
  return cudaMemGetInfo(&available, &total) == cudaSuccess ? (int)(total >> 20) : 200;
}

static int ask_for_workers(void) {
  int workers;
  return cudaDeviceGetAttribute(&workers, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess ? workers : 200;
}

static int ask_for_mode(void) {
  return cudasim_mode()[0];
}

// Exits with work still queued, which must not keep the program.
static int leave_at_once(void) {
  void *memory;
  if (cudaMalloc(&memory, 1 << 20) != cudaSuccess || cudaMemset(memory, 1, 1 << 20) != cudaSuccess)
    return 200;
  exit(7);
}

// Of 16 bytes: with a guard page after them they end at its beginning, 4080 bytes into a page; else they begin at a multiple of 256.
static int ask_for_alignment(void) {
  void *memory;
  return cudaMalloc(&memory, 16) == cudaSuccess ? (int)(-(uintptr_t)memory % 256) : 200;
}

typedef struct Start {
  const char *variable, *value;
  int (*ask)(void);
} Start;

static int start_asking(void *context) {
  static const char *const all[] = {
      "FERRY_SIM_DEVICES", "FERRY_SIM_MODE",  "FERRY_SIM_ORDER",      "FERRY_SIM_MEMORY_MB",   "FERRY_SIM_THREADS",
      "FERRY_SIM_GUARD",   "FERRY_SIM_CHECK", "FERRY_SIM_GPU",        "FERRY_SIM_BLOCKS",      "FERRY_SIM_EDGE",
      "FERRY_SIM_WEAK",    "FERRY_SIM_AHEAD", "FERRY_SIM_POLLS",      "FERRY_SIM_DELAYS",      "FERRY_SIM_WATCHDOG",
      "FERRY_SIM_SECONDS", "FERRY_SIM_COUNT", "FERRY_SIM_GUARD_PAGE", "FERRY_SIM_STORE_BUFFER"};
  const Start *start = context;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    unsetenv(all[i]);
  setenv(start->variable, start->value, 1);
  return start->ask();
}

// The exit status of a process with this environment that returns what `ask` does.
static int run_with(const char *variable, const char *value, int (*ask)(void)) {
  return run_child(start_asking, &(Start){variable, value, ask});
}

static void good_values_are_obeyed(void **state) {
  (void)state;
  assert_int_equal(run_with("FERRY_SIM_DEVICES", "", ask_for_devices), 2);
  assert_int_equal(run_with("FERRY_SIM_DEVICES", "1", ask_for_devices), 1);
  assert_int_equal(run_with("FERRY_SIM_DEVICES", "16", ask_for_devices), 16);
  assert_int_equal(run_with("FERRY_SIM_MEMORY_MB", "48", ask_for_memory), 48);
  assert_int_equal(run_with("FERRY_SIM_THREADS", "5", ask_for_workers), 5);
  assert_int_equal(run_with("FERRY_SIM_MODE", "", ask_for_mode), 't');
  assert_int_equal(run_with("FERRY_SIM_MODE", "lazy", ask_for_mode), 'l');
  assert_int_equal(run_with("FERRY_SIM_MODE", "sync", ask_for_mode), 's');
  assert_int_equal(run_with("FERRY_SIM_ORDER", "random:12", ask_for_devices), 2);
  assert_int_equal(run_with("FERRY_SIM_WATCHDOG", "0", ask_for_devices), 2);
  assert_int_equal(run_with("FERRY_SIM_SECONDS", "3", ask_for_devices), 2);
  assert_int_equal(run_with("FERRY_SIM_GUARD_PAGE", "after", ask_for_alignment), 16);
  assert_int_equal(run_with("FERRY_SIM_GUARD_PAGE", "none", ask_for_alignment), 0);
  assert_int_equal(run_with("FERRY_SIM_STORE_BUFFER", "shared", ask_for_devices), 2);
}

// For one release.
static void deprecated_aliases_are_obeyed(void **state) {
  (void)state;
  assert_int_equal(run_with("FERRY_SIM_EDGE", "behind", ask_for_alignment), 16);
  assert_int_equal(run_with("FERRY_SIM_EDGE", "none", ask_for_alignment), 0);
  assert_int_equal(run_with("FERRY_SIM_WEAK", "within", ask_for_devices), 2);
}

static void expect_refused(const char *variable, const char *value, const char *allowed) {
  char message[200];
  assert_int_equal(run_with(variable, value, ask_for_devices), 2);
  snprintf(message, sizeof message, "ferry: %s=%s is not valid: use %s\n", variable, value, allowed);
  assert_string_equal(child_output, message);
}

static void bad_values_are_refused(void **state) {
  (void)state;
  expect_refused("FERRY_SIM_DEVICES", "0", "a whole number from 1 to 16");
  expect_refused("FERRY_SIM_DEVICES", "two", "a whole number from 1 to 16");
  expect_refused("FERRY_SIM_DEVICES", "2x", "a whole number from 1 to 16");
  expect_refused("FERRY_SIM_MODE", "fast", "threads, lazy or sync");
  expect_refused("FERRY_SIM_BLOCKS", "up", "ascending, descending, random or random:SEED");
  expect_refused("FERRY_SIM_GUARD_PAGE", "behind", "none, after or before");
  expect_refused("FERRY_SIM_EDGE", "after", "none, behind or before");
  expect_refused("FERRY_SIM_STORE_BUFFER", "within", "none, shared, global or both");
  expect_refused("FERRY_SIM_WEAK", "1", "none, within, between or both");
  expect_refused("FERRY_SIM_ORDER", "random:", "ascending, descending, random or random:SEED");
  expect_refused("FERRY_SIM_MEMORY_MB", "-1", "a whole number from 1 to 1048576");
  expect_refused("FERRY_SIM_THREADS", "17", "a whole number from 1 to 16");
  expect_refused("FERRY_SIM_GUARD", "yes", "a whole number from 0 to 1");
  expect_refused("FERRY_SIM_CHECK", "2", "a whole number from 0 to 1");
  expect_refused("FERRY_SIM_COUNT", "yes", "a whole number from 0 to 1");
  expect_refused("FERRY_SIM_WATCHDOG", "abc", "a whole number from 0 to 86400");
  expect_refused("FERRY_SIM_WATCHDOG", "-1", "a whole number from 0 to 86400");
  expect_refused("FERRY_SIM_SECONDS", "1.5", "a whole number from 0 to 86400");
}

// ---- a modeled GPU ----

static int ask_as_a100(void) {
  struct cudaDeviceProp p;
  int blocks, clock;
  static const int kernel;
  if (cudaGetDeviceProperties(&p, 1) != cudaSuccess ||
      cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0) != cudaSuccess ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 256, 49152) != cudaSuccess)
    return 200;
  return strcmp(p.name, "Simulated NVIDIA A100 (model)") == 0 && p.multiProcessorCount == 108 && p.major == 8 &&
         p.totalGlobalMem == 40960ull << 20 && p.sharedMemPerMultiprocessor == 167936 && clock == 1410000 &&
         blocks == 3 && cudaFuncSetAttribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 166912) == 0 &&
         cudaFuncSetAttribute(&kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 166913) == cudaErrorInvalidValue;
}

static void a_gpu_can_be_modeled(void **state) {
  (void)state;
  assert_int_equal(run_with("FERRY_SIM_GPU", "a100", ask_as_a100), 1);
  assert_int_equal(run_with("FERRY_SIM_GPU", "", ask_as_a100), 0);
  assert_int_equal(run_with("FERRY_SIM_GPU", "t4", ask_for_workers), 40);
  assert_int_equal(run_with("FERRY_SIM_GPU", "list", ask_for_workers), 0);
  assert_non_null(strstr(child_output, "\n  h100 "));
  assert_int_equal(run_with("FERRY_SIM_GPU", "a1000", ask_for_workers), 2);
  assert_non_null(strstr(child_output, "ferry: FERRY_SIM_GPU=a1000 is not valid: use one of\n  t4 "));
  assert_int_equal(run_with("FERRY_SIM_GPU", "k20c", ask_for_workers), 2); // only to check the model with
}

static void a_program_may_exit_with_work_queued(void **state) {
  (void)state;
  assert_int_equal(run_with("FERRY_SIM_MODE", "threads", leave_at_once), 7);
  assert_int_equal(run_with("FERRY_SIM_MODE", "lazy", leave_at_once), 7);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(good_values_are_obeyed),
      cmocka_unit_test(deprecated_aliases_are_obeyed),
      cmocka_unit_test(bad_values_are_refused),
      cmocka_unit_test(a_gpu_can_be_modeled),
      cmocka_unit_test(a_program_may_exit_with_work_queued),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
