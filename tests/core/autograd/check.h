// SPDX-License-Identifier: MIT
// What the tests of autograd share: leaves from numbers, comparison, expected errors.
#ifndef FERRY_TESTS_AUTOGRAD_CHECK_H
#define FERRY_TESTS_AUTOGRAD_CHECK_H

#include "ferry.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static FyDevice device; // of the run: its argument, or the CPU

static inline FyTensor *leaf(const float *values, int64_t n) {
  FyTensor *t = fy_tensor(values, fy_shape(n), .device = device);
  return fy_set_requires_grad(t, true);
}

static inline void expect(FyTensor *t, const float *values) {
  float got[32];
  assert_non_null(t);
  fy_copy_to_host(t, got);
  for (int64_t i = 0; i < fy_numel(t); i++)
    if (!(fabsf(got[i] - values[i]) <= 1e-6f * (1 + fabsf(values[i]))))
      fail_msg("element %d is %g, expected %g", (int)i, (double)got[i], (double)values[i]);
}

#define raises(text, ...)                                                                                              \
  do {                                                                                                                 \
    FyError error_;                                                                                                    \
    fy_trap(error_) {                                                                                                  \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
    if (!error_.kind)                                                                                                  \
      fail_msg("should raise: %s", text);                                                                              \
    if (!strstr(error_.message, text))                                                                                 \
      fail_msg("raised \"%s\", expected \"%s\"", error_.message, text);                                                \
  } while (0)

// Hooks that count their calls and change the gradient.
static inline FyTensor *times_ten(FyTensor *grad, void *context) {
  ++*(int *)context;
  return fy_mul_scalar(grad, 10);
}

static inline FyTensor *times_hundred(FyTensor *grad, void *context) {
  ++*(int *)context;
  return fy_mul_scalar(grad, 100);
}

#endif
