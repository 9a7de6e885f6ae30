// SPDX-License-Identifier: MIT
// The calls of the differential test: their inputs, the functions, and what counts as a difference.
#include "adopt/check.h"
#include "ferry.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  ADD,
  ADD_IN_PLACE,
  SUB_IN_PLACE,
  SUM,
  SUM_ROWS,
  MAX,
  MAX_DIM,
  ARGMAX,
  PRODUCT,
  LEFT_T,
  RIGHT_T,
  LINEAR,
  TRANSPOSE,
  SOFTMAX,
  FEW_VALUES = 8,
  MOST_OUTPUTS = 2
};

const CheckKind check_kinds[] = {
    {"add", "fy_add(x, y)", "xy", "m m", {100000}, false, ADD, {0}},
    {"add", "fy_add_(x, y)", "xy", "m m", {100000}, false, ADD_IN_PLACE, {0}},
    {"sub", "fy_sub_(x, y)", "xy", "m m", {100000}, false, SUB_IN_PLACE, {0}},
    {"sum", "fy_sum(x)", "x", "m", {200000}, false, SUM, {0}},
    {"sum", "fy_sum_dim(x, 0, false)", "x", "mn", {3000, 3000}, false, SUM_ROWS, {0}},
    {"max", "fy_max(x)", "x", "mn", {3000, 3000}, true, MAX, {0}},
    {"max_dim", "fy_max_dim(x, 1, false)", "x", "mn", {3000, 3000}, true, MAX_DIM, {0}},
    {"argmax", "fy_argmax_dim(x, 1, false)", "x", "mn", {3000, 3000}, true, ARGMAX, {0}},
    {"matmul", "fy_matmul(a, b)", "ab", "mk kn", {200, 200, 200}, false, PRODUCT, {0}},
    {"matmul", "fy_matmul(fy_transpose(a, 0, 1), b)", "ab", "km kn", {200, 200, 200}, false, LEFT_T, {0}},
    {"matmul", "fy_matmul(a, fy_transpose(b, 0, 1))", "ab", "mk nk", {200, 200, 200}, false, RIGHT_T, {0}},
    {"matmul", "fy_matmul(a, b)", "ab", "mk kn", {3, 3, 20}, false, PRODUCT, {64, 64, 8}},
    {"matmul", "fy_matmul(a, b)", "ab", "mk kn", {10, 10, 10}, false, PRODUCT, {16, 16, 16}},
    {"linear", "fy_linear(x, w, b)", "xwb", "mk nk n", {200, 200, 200}, false, LINEAR, {0}},
    {"linear", "fy_linear(x, w, b)", "xwb", "mk nk n", {3, 3, 20}, false, LINEAR, {64, 64, 16}},
    {"copy", "fy_contiguous(fy_transpose(x, 0, 1))", "x", "mn", {3000, 3000}, false, TRANSPOSE, {0}},
    {"softmax", "fy_softmax(x, 1)", "x", "mn", {3000, 3000}, true, SOFTMAX, {0}},
};
const int check_kind_count = sizeof check_kinds / sizeof *check_kinds;

// ---- inputs --------------------------------------------------------------------------------------------------------------------

static int64_t size_of(const CheckCall *c, char letter) {
  const int i = letter == 'm' ? 0 : letter == 'n' ? 1 : 2;
  return c->size[i] * (c->kind->multiple[i] ? c->kind->multiple[i] : 1);
}

// The shape of input i; the number of dimensions, 0: there is none.
static int shape_of(const CheckCall *c, int i, int64_t *shape) {
  const char *at = c->kind->inputs;
  for (; i > 0 && at; i--)
    at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL;
  int ndim = 0;
  for (; at && *at && *at != ' '; at++)
    shape[ndim++] = size_of(c, *at);
  return ndim;
}

static int64_t elements_of(const CheckCall *c, int i) {
  int64_t shape[CHECK_SIZES], count = 1;
  const int ndim = shape_of(c, i, shape);
  for (int d = 0; d < ndim; d++)
    count *= shape[d];
  return ndim > 0 ? count : 0;
}

int64_t check_elements(const CheckCall *c) {
  int64_t count = 0;
  for (int i = 0; i < CHECK_INPUTS; i++)
    count += elements_of(c, i);
  return count;
}

static uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

// Multiples of 1/8 from -2 to 2: sums of them are exact in float32, and equal values are frequent.
static float value_at(const CheckCall *c, int input, int64_t i) {
  static const float odd[] = {NAN, INFINITY, -INFINITY, 3000, -3000};
  const uint64_t bits = mixed(mixed(c->seed + 1) + ((uint64_t)input << 40) + (uint64_t)i);
  if (c->odd && bits >> 32 & 1 && (bits >> 33) % 5 == 0)
    return odd[bits % (sizeof odd / sizeof *odd)];
  return (float)(int)(bits % 33) / 8 - 2;
}

static FyTensor *make_input(const CheckCall *c, int i) {
  int64_t shape[CHECK_SIZES];
  const int ndim = shape_of(c, i, shape);
  if (ndim == 0)
    return NULL;
  FyTensor *x = ndim == 1 ? fy_empty(fy_shape(shape[0])) : fy_empty(fy_shape(shape[0], shape[1]));
  float *values = fy_data_ptr(x);
  for (int64_t k = 0; k < fy_numel(x); k++)
    values[k] = value_at(c, i, k);
  return x;
}

void check_print_inputs(const CheckCall *c) {
  for (int i = 0; i < CHECK_INPUTS; i++) {
    int64_t shape[CHECK_SIZES];
    const int ndim = shape_of(c, i, shape);
    if (ndim == 0)
      continue;
    printf("%s%c (", i ? "; " : "", c->kind->names[i]);
    for (int d = 0; d < ndim; d++)
      printf("%s%lld%s", d ? ", " : "", (long long)shape[d], ndim == 1 ? "," : "");
    printf(") float32");
    const int64_t count = elements_of(c, i);
    for (int64_t k = 0; k < count && count <= FEW_VALUES; k++)
      printf("%s%g", k ? " " : " = ", (double)value_at(c, i, k));
  }
  printf("%s\n", c->odd ? "; some are NaN, infinite or large" : "");
}

// ---- the functions ----------------------------------------------------------------------------------------------------------------

static int compute(int what, FyTensor **in, FyTensor **out) {
  FyTensor *x = in[0], *y = in[1];
  switch (what) {
  case ADD:
    out[0] = fy_add(x, y);
    return 1;
  case ADD_IN_PLACE:
    out[0] = fy_add_(x, y);
    return 1;
  case SUB_IN_PLACE:
    out[0] = fy_sub_(x, y);
    return 1;
  case SUM:
    out[0] = fy_sum(x);
    return 1;
  case SUM_ROWS:
    out[0] = fy_sum_dim(x, 0, false);
    return 1;
  case MAX:
    out[0] = fy_max(x);
    return 1;
  case MAX_DIM: {
    const FyValuesIndices found = fy_max_dim(x, 1, false);
    out[0] = found.values;
    out[1] = found.indices;
    return 2;
  }
  case ARGMAX:
    out[0] = fy_argmax_dim(x, 1, false);
    return 1;
  case PRODUCT:
    out[0] = fy_matmul(x, y);
    return 1;
  case LEFT_T:
    out[0] = fy_matmul(fy_transpose(x, 0, 1), y);
    return 1;
  case RIGHT_T:
    out[0] = fy_matmul(x, fy_transpose(y, 0, 1));
    return 1;
  case LINEAR:
    out[0] = fy_linear(x, y, in[2]);
    return 1;
  case TRANSPOSE:
    out[0] = fy_contiguous(fy_transpose(x, 0, 1));
    return 1;
  default:
    out[0] = fy_softmax(x, 1);
    return 1;
  }
}

static int compute_on(const CheckCall *c, FyDevice device, FyTensor **out) {
  FyTensor *in[CHECK_INPUTS];
  for (int i = 0; i < CHECK_INPUTS; i++) {
    FyTensor *x = make_input(c, i);
    in[i] = x ? fy_to(x, device) : NULL;
  }
  const int count = compute(c->kind->what, in, out);
  for (int i = 0; i < count; i++)
    out[i] = fy_to_dtype(fy_to(out[i], FY_CPU_DEVICE), FY_FLOAT64);
  return count;
}

// ---- comparing -----------------------------------------------------------------------------------------------------------------------

static bool is_near(double a, double b) {
  return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-7 + 2e-5 * fmin(fabs(a), fabs(b));
}

static void place_of(const FyTensor *t, int64_t i, char *text, size_t bytes) {
  size_t used = (size_t)snprintf(text, bytes, "result");
  for (int d = 0; d < fy_dim(t); d++) {
    int64_t below = 1;
    for (int e = d + 1; e < fy_dim(t); e++)
      below *= fy_size_at(t, e);
    used += (size_t)snprintf(text + used, bytes - used, "[%lld]", (long long)(i / below % fy_size_at(t, d)));
  }
}

// Without the sign of a NaN.
static void print_value(char *text, size_t bytes, double value) {
  snprintf(text, bytes, "%.9g", isnan(value) ? fabs(value) : value);
}

static bool differs(const FyTensor *expected, const FyTensor *got, bool indices, CheckDifference *d) {
  const double *a = fy_data_ptr(expected), *b = fy_data_ptr(got);
  d->elements = fy_numel(expected);
  for (int64_t i = 0; i < d->elements; i++) {
    if (is_near(a[i], b[i]))
      continue;
    if (d->wrong++ > 0)
      continue;
    place_of(expected, i, d->where, sizeof d->where);
    if (indices)
      memcpy(d->where, "index ", 6); // as long as "result"
    print_value(d->expected, sizeof d->expected, a[i]);
    print_value(d->got, sizeof d->got, b[i]);
  }
  return d->wrong > 0;
}

bool check_run(const CheckCall *c, CheckDifference *d) {
  volatile bool found = false;
  FyError error;
  fy_trap(error) {
    fy_scope {
      FyTensor *expected[MOST_OUTPUTS], *got[MOST_OUTPUTS];
      const int count = compute_on(c, FY_CPU_DEVICE, expected);
      compute_on(c, fy_cuda_device(0), got);
      for (int i = 0; i < count && !found; i++)
        found = differs(expected[i], got[i], i > 0, d);
    }
  }
  if (error.kind != FY_NO_ERROR) {
    d->failed = true;
    snprintf(d->got, sizeof d->got, "%.*s", (int)strcspn(error.message, "\n"), error.message);
    return true;
  }
  return found;
}
