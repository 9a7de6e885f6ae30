// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#ifdef FERRY_SIM
#include "ledger_sim.h"
#include "sim/base/cudasim.h"
#endif

enum { LEFT_FREE = 8 << 20, LEFT_FOR_ONE = 2 << 20 };

static size_t available(void) {
  size_t now = 0, total = 0;
  cudaMemGetInfo(&now, &total);
  return now;
}

// Launches and copies up to now. A real GPU does not report them.
static double work_done(void) {
#ifdef FERRY_SIM
  struct cudasim_stats stats;
  cudasim_get_stats(&stats);
  return (double)(stats.launches + stats.copies_host_to_device + stats.copies_device_to_host);
#else
  static double calls;
  return ++calls;
#endif
}

// Allocates all device memory except `left` bytes. Returns NULL if this fails.
static void *leave_free(size_t left) {
  void *taken = NULL;
  return cudaMalloc(&taken, available() - left) == cudaSuccess ? taken : NULL;
}

// Doubles n elements, of which only the first 5 come from x. Returns whether the result is correct.
static bool doubles(const float *x, int n, int *error) {
  float *large = (float *)calloc((size_t)n, sizeof *large);
  memcpy(large, x, 5 * sizeof *large);
  *error = -1;
  scale_on_device(large, large, 2, n, error);
  const bool right = large[1] == 2 * x[1] && large[n - 1] == 0;
  free(large);
  return right;
}

// Runs with device memory for one array, but not for two.
static void ask_for_half(Driver *d, const float *x) {
  void *taken = leave_free(LEFT_FOR_ONE);
  int error;
  cudaGetLastError();
  const size_t before = available();
  driver_put_number(d, "right of half", doubles(x, LEFT_FOR_ONE / (int)sizeof(float) / 8 * 5, &error));
  const size_t after = available();
  driver_put_number(d, "error of half", error);
  driver_put_number(d, "kept of half", before > after ? (double)(before - after) : 0);
  cudaFree(taken);
}

// Runs with little device memory left, and arrays that are larger than that.
static void ask_too_much(Driver *d) {
  const Array *x = driver_array(d, "x");
  void *taken = leave_free(LEFT_FREE);
  int error;
  driver_put_number(d, "memory taken", taken != NULL);
  const double before = work_done();
  driver_put_number(d, "right of too much", doubles(x->f32, 4 * (LEFT_FREE / (int)sizeof(float)), &error));
  driver_put_number(d, "done after too much", work_done() - before);
  driver_put_number(d, "error of too much", error);
  ask_for_half(d, x->f32);
  cudaFree(taken);
  cudaGetLastError();
}

#ifdef FERRY_SIM
// Makes the first, second and third operation on the device fail in turn: a copy, the launch, a copy.
static void ask_refused(Driver *d, float *y, const float *x, int n) {
  enum { OPERATIONS = 3 };
  int64_t said[OPERATIONS], after[OPERATIONS], kept[OPERATIONS];
  const Shape all = {1, {OPERATIONS}};
  for (int i = 0; i < OPERATIONS; i++) {
    int error = -1;
    cudaGetLastError();
    const size_t before = available();
    ledger_refuse(i + 1, cudaErrorLaunchOutOfResources);
    scale_on_device(y, x, 2, n, &error);
    after[i] = ledger_since_refusal();
    ledger_refuse(0, cudaSuccess);
    said[i] = error;
    kept[i] = (int64_t)before - (int64_t)available();
  }
  cudaGetLastError();
  driver_put_array(d, "errors of what failed", FY_INT64, all, said);
  driver_put_array(d, "done after what failed", FY_INT64, all, after);
  driver_put_array(d, "kept after what failed", FY_INT64, all, kept);
}
#endif

void drive(Driver *d) {
  const Array *x = driver_array(d, "x");
  const int n = (int)driver_number(d, "n");
  float *y = (float *)malloc((size_t)x->count * sizeof(float));
  int error = -1;
  void *warm = NULL;
  memset(y, 0xff, (size_t)x->count * sizeof(float));
  cudaMalloc(&warm, 256);
  cudaFree(warm);
  if (strcmp(driver_test(d), "not enough device memory") == 0)
    ask_too_much(d);
#ifdef FERRY_SIM
  if (strcmp(driver_test(d), "a copy or the launch fails") == 0 && ledger_refuse)
    ask_refused(d, y, x->f32, n);
  memset(y, 0xff, (size_t)x->count * sizeof(float));
#endif
  const size_t before = available();
  driver_count(d);
  scale_on_device(y, x->f32, (float)driver_number(d, "a"), n, &error);
  driver_stop(d);
  const size_t after = available();
#ifdef FERRY_SIM // a real GPU's driver keeps pools of its own
  driver_put_number(d, "bytes kept", before > after ? (double)(before - after) : 0);
#else
  (void)before;
  (void)after;
  driver_put_number(d, "bytes kept", 0);
#endif
  driver_put_number(d, "error", error);
  driver_put_number(d, "last error", cudaGetLastError());
  driver_put_array(d, "y", FY_FLOAT32, x->shape, y);
  free(y);
}
