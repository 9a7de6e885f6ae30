// SPDX-License-Identifier: MIT
// Whole tensors of random numbers, looked at as doubles: for the tests of random numbers and of dropout.
#ifndef TESTS_OP_NUMBERS_H
#define TESTS_OP_NUMBERS_H

#include "core/nn/check.h"

static const FyDType floats[] = {FY_FLOAT32, FY_FLOAT64, FY_FLOAT16, FY_BFLOAT16};
enum { FLOATS = sizeof floats / sizeof *floats };

// The elements of a tensor as doubles; the caller frees them.
static inline double *values_of(FyTensor *t) {
  double *values = malloc(((size_t)fy_numel(t) + 1) * sizeof *values);
  assert_non_null(values);
  fy_scope {
    fy_copy_to_host(fy_to(fy_detach(t), FY_CPU_DEVICE, .dtype = FY_FLOAT64), values);
  }
  return values;
}

// Every bit equal, whatever the devices. A real GPU's transcendental functions may round differently.
static inline void assert_same_numbers(FyTensor *a, FyTensor *b, bool transcendental) {
  assert_int_equal(fy_dtype_of(a), fy_dtype_of(b));
  assert_int_equal(fy_numel(a), fy_numel(b));
  double *x = values_of(a), *y = values_of(b);
  bool simulated = !fy_is_cuda(a) && !fy_is_cuda(b) ? true : fy_cuda_is_simulated();
  size_t size = fy_dtype_size(fy_dtype_of(a));
  double tolerance = !transcendental || simulated ? 0 : size == 8 ? 1e-13 : size == 4 ? 1e-5 : 1e-2;
  for (int64_t i = 0; i < fy_numel(a); i++)
    if (!(fabs(x[i] - y[i]) <= tolerance * (1 + fabs(y[i]))))
      fail_msg("%s: element %ld of %ld is %.17g, and %.17g", fy_dtype_name(fy_dtype_of(a)), (long)i, (long)fy_numel(a),
               x[i], y[i]);
  free(x);
  free(y);
}

static inline void assert_near(const char *what, FyDType dtype, double got, double want, double tolerance) {
  if (!(fabs(got - want) <= tolerance))
    fail_msg("%s of %s is %g, expected %g", what, fy_dtype_name(dtype), got, want);
}

#endif
