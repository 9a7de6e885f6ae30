// SPDX-License-Identifier: MIT
// cmocka, Ferry, and an assertion that a call raises; for the tests of this folder and its neighbors.
#ifndef FERRY_TEST_CHECK_H
#define FERRY_TEST_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "ferry.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The statement raises an error of this kind whose text is `text`.
#define assert_raises(wanted, text, ...)                                                                               \
  do {                                                                                                                 \
    FyError raised;                                                                                                    \
    fy_trap(raised) {                                                                                                  \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
    assert_string_equal(fy_error_name(raised.kind), fy_error_name(wanted));                                            \
    assert_string_equal(raised.message, text);                                                                         \
  } while (0)

// The same where the text only has to contain `part`.
#define assert_raises_about(wanted, part, ...)                                                                         \
  do {                                                                                                                 \
    FyError raised;                                                                                                    \
    fy_trap(raised) {                                                                                                  \
      __VA_ARGS__;                                                                                                     \
    }                                                                                                                  \
    assert_string_equal(fy_error_name(raised.kind), fy_error_name(wanted));                                            \
    if (!strstr(raised.message, part))                                                                                 \
      fail_msg("expected an error about '%s', but got '%s'", part, raised.message);                                    \
  } while (0)

// The values of a tensor of any device and floating dtype are near the expected ones, row-major.
static inline void assert_values(FyTensor *t, const double *expected, int64_t count, double tolerance) {
  fy_scope {
    FyTensor *host = fy_to(fy_detach(t), FY_CPU_DEVICE, .dtype = FY_FLOAT64);
    double *values = malloc((size_t)(count ? count : 1) * sizeof *values);
    assert_int_equal(fy_numel(host), count);
    fy_copy_to_host(host, values);
    for (int64_t i = 0; i < count; i++)
      if (!(fabs(values[i] - expected[i]) <= tolerance * (1 + fabs(expected[i]))))
        fail_msg("element %ld: expected %.17g, but got %.17g", (long)i, expected[i], values[i]);
    free(values);
  }
}

#endif
