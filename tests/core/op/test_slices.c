// SPDX-License-Identifier: MIT
// Ops whose target is a part of a bigger tensor: it gets the values, and what lies around it keeps its own. Sizes around
// those of vectors, warps, blocks and tiles.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy FERRY_SIM_ORDER=descending -- cuda
#include "core/nn/check.h"

static FyDevice device;
static const FyDType dtypes[] = {FY_FLOAT32, FY_FLOAT64, FY_FLOAT16, FY_BFLOAT16, FY_INT64, FY_INT32, FY_UINT8};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };
static const int64_t sizes[] = {1, 2, 3, 7, 8, 9, 15, 31, 33, 63, 65, 127, 129, 255, 257, 1025, 4099, 70003};
enum { SIZES = sizeof sizes / sizeof *sizes, GUARD = 24, MARK = 77 };

// An op that changes its first tensor, with a second one of the same shape.
typedef struct Change {
  const char *name;
  FyTensor *(*in_place)(FyTensor *a, FyTensor *b);
  FyTensor *(*fresh)(FyTensor *a, FyTensor *b); // the same as a new tensor
  bool floating;                                // floating dtypes only
} Change;

#define CHANGE(NAME, IN_PLACE, FRESH)                                                                                  \
  static FyTensor *NAME##_in_place(FyTensor *a, FyTensor *b) {                                                         \
    (void)b;                                                                                                           \
    return IN_PLACE;                                                                                                   \
  }                                                                                                                    \
  static FyTensor *NAME##_fresh(FyTensor *a, FyTensor *b) {                                                            \
    (void)a;                                                                                                           \
    (void)b;                                                                                                           \
    return FRESH;                                                                                                      \
  }
CHANGE(add, fy_add_(a, b), fy_add(a, b))
CHANGE(sub, fy_sub_(a, b), fy_sub(a, b))
CHANGE(mul, fy_mul_(a, b), fy_mul(a, b))
CHANGE(div, fy_div_(a, fy_add_scalar(b, 1)), fy_div(a, fy_add_scalar(b, 1)))
CHANGE(add_scalar, fy_add_scalar_(a, 3), fy_add_scalar(a, 3))
CHANGE(mul_scalar, fy_mul_scalar_(a, 2), fy_mul_scalar(a, 2))
CHANGE(neg, fy_neg_(a), fy_neg(a))
CHANGE(exp, fy_exp_(a), fy_exp(a))
CHANGE(log, fy_log_(fy_add_scalar_(a, 1)), fy_log(fy_add_scalar(a, 1)))
CHANGE(sqrt, fy_sqrt_(a), fy_sqrt(a))
CHANGE(tanh, fy_tanh_(a), fy_tanh(a))
CHANGE(sigmoid, fy_sigmoid_(a), fy_sigmoid(a))
CHANGE(relu, fy_relu_(a), fy_relu(a))
CHANGE(clamp, fy_clamp_(a, 2, 5), fy_clamp(a, 2, 5))
CHANGE(fill, fy_fill_(a, 4), fy_full_like(a, 4))
CHANGE(zero, fy_zero_(a), fy_zeros_like(a))
CHANGE(copy, fy_copy_(a, b), fy_clone(b))
CHANGE(convert, fy_copy_(a, fy_to_dtype(b, FY_INT32)), fy_clone(b))

#define ENTRY(NAME, FLOATING)                                                                                          \
  { #NAME, NAME##_in_place, NAME##_fresh, FLOATING }
static const Change changes[] = {
    ENTRY(add, false),  ENTRY(sub, false),    ENTRY(mul, false),        ENTRY(div, true),    ENTRY(add_scalar, false),
    ENTRY(neg, false),  ENTRY(exp, true),     ENTRY(mul_scalar, false), ENTRY(log, true),    ENTRY(sqrt, true),
    ENTRY(tanh, true),  ENTRY(sigmoid, true), ENTRY(relu, false),       ENTRY(clamp, false), ENTRY(fill, false),
    ENTRY(zero, false), ENTRY(copy, false),   ENTRY(convert, false),
};
enum { CHANGES = sizeof changes / sizeof *changes };

static double *values_of(FyTensor *t) {
  double *values = malloc(((size_t)fy_numel(t) + 1) * sizeof *values);
  fy_copy_to_host(fy_to(t, FY_CPU_DEVICE, .dtype = FY_FLOAT64), values);
  return values;
}

static void compare(const Change *c, FyTensor *got, FyTensor *want, const char *what) {
  int64_t n = fy_numel(want);
  double *x = values_of(got), *y = values_of(want);
  size_t size = fy_dtype_size(fy_dtype_of(got));
  double tolerance = !fy_dtype_is_floating(fy_dtype_of(got)) ? 0 : size == 2 ? 1e-2 : 1e-6;
  assert_int_equal(fy_numel(got), n);
  for (int64_t i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= tolerance * fabs(y[i])))
      fail_msg("%s, %s of %ld %s: element %ld is %g, expected %g", c->name, what, (long)n,
               fy_dtype_name(fy_dtype_of(got)), (long)i, x[i], y[i]);
  free(x);
  free(y);
}

// Small whole numbers of every kind, which each dtype holds.
static FyTensor *some(int64_t n, FyDType dtype, uint64_t seed) {
  fy_manual_seed(seed);
  return fy_randint(0, 8, fy_shape(n), .dtype = dtype, .device = device);
}

// A row-major part that begins `shift` elements off: vectors are cut on both sides.
static void check_part(const Change *c, FyDType dtype, int64_t n, int shift) {
  FyTensor *base = fy_full(MARK, fy_shape(n + 2 * GUARD), .dtype = dtype, .device = device);
  FyTensor *part = fy_narrow(base, 0, GUARD - shift, n), *a = some(n, dtype, 1), *b = some(n, dtype, 2);
  fy_copy_(part, a);
  FyTensor *want = c->fresh(a, b), *got = c->in_place(part, b);
  assert_ptr_equal(got, part);
  compare(c, part, want, "a part");
  double *x = values_of(base);
  for (int64_t i = 0; i < n + 2 * GUARD; i++)
    if ((i < GUARD - shift || i >= GUARD - shift + n) && x[i] != MARK)
      fail_msg("%s of %ld %s: place %ld beside it has become %g", c->name, (long)n, fy_dtype_name(dtype),
               (long)(i - GUARD + shift), x[i]);
  free(x);
}

// Every second column of a transposed matrix within another.
static void check_columns(const Change *c, FyDType dtype, int64_t rows, int64_t columns) {
  FyTensor *base = fy_full(MARK, fy_shape(2 * columns + 3, rows + 5), .dtype = dtype, .device = device);
  FyTensor *part = fy_slice(fy_narrow(fy_transpose(base, 0, 1), 0, 2, rows), 1, 1, 2 * columns + 1, 2);
  FyTensor *a = fy_view(some(rows * columns, dtype, 3), fy_shape(rows, columns));
  FyTensor *b = fy_view(some(rows * columns, dtype, 4), fy_shape(rows, columns));
  fy_copy_(part, a);
  FyTensor *want = c->fresh(a, b);
  c->in_place(part, b);
  compare(c, part, want, "columns");
  fy_fill_(part, MARK);
  double *x = values_of(base);
  for (int64_t i = 0; i < fy_numel(base); i++)
    if (x[i] != MARK)
      fail_msg("%s in columns: place %ld beside them has become %g", c->name, (long)i, x[i]);
  free(x);
}

static void test_change(void **state) {
  const Change *c = *state;
  for (int d = 0; d < DTYPES; d++) {
    if (c->floating && !fy_dtype_is_floating(dtypes[d]))
      continue;
    for (int s = 0; s < SIZES; s++)
      if (sizes[s] < 5000 || dtypes[d] == FY_FLOAT32)
        fy_scope
          check_part(c, dtypes[d], sizes[s], s % 4);
    fy_scope {
      check_columns(c, dtypes[d], 1, 5);
      check_columns(c, dtypes[d], 33, 17);
      check_columns(c, dtypes[d], 7, 131);
    }
  }
}

// Results that the kernels write as a whole, seen from outside: blocks of memory handed out before and after them, all of
// them alive at once, keep what is in them.
static void results_stay_in_their_memory(void **state) {
  (void)state;
  for (int s = 0; s < SIZES - 1; s++)
    fy_scope {
      FyTensor *blocks[40], *results[40];
      int n = 0;
      FyTensor *x = fy_rand(fy_shape(sizes[s], 5), .device = device), *y = fy_rand(fy_shape(5, 3), .device = device);
      for (int round = 0; round < 4; round++) {
        FyTensor *made[] = {fy_matmul(x, y),
                            fy_softmax(x, 1),
                            fy_sum_dim(x, 1, false),
                            fy_sum_dim(x, 0, false),
                            fy_max_dim(x, 0, false).values,
                            fy_cat(fy_list(x, x), 1),
                            fy_clone(fy_t(x))};
        for (int i = 0; i < 7; i++) {
          blocks[n] = fy_full(MARK + n, fy_shape(sizes[s]), .device = device);
          results[n++] = made[i];
        }
      }
      for (int i = 0; i < n; i++) {
        assert_true(fy_equal(blocks[i], fy_full(MARK + i, fy_shape(sizes[s]), .device = device)));
        assert_true(fy_equal(results[i], results[i % 7]));
      }
    }
}

// Overlapping operands: the target is read as it was before.
static void a_target_that_is_also_an_operand(void **state) {
  (void)state;
  FyTensor *t = fy_arange(10, .dtype = FY_FLOAT32, .device = device);
  fy_add_(fy_narrow(t, 0, 1, 9), fy_narrow(t, 0, 0, 9));
  assert_values(t, fy_doubles(0, 1, 3, 5, 7, 9, 11, 13, 15, 17), 10, 0);
  FyTensor *square = fy_view(fy_arange(9, .dtype = FY_FLOAT32, .device = device), fy_shape(3, 3));
  fy_copy_(square, fy_t(square));
  assert_values(square, fy_doubles(0, 3, 6, 1, 4, 7, 2, 5, 8), 9, 0);
  fy_mul_(square, square);
  assert_values(square, fy_doubles(0, 9, 36, 1, 16, 49, 4, 25, 64), 9, 0);
  FyTensor *line = fy_arange(3000, .dtype = FY_FLOAT32, .device = device);
  fy_copy_(fy_narrow(line, 0, 1, 2999), fy_narrow(line, 0, 0, 2999));
  assert_true(fy_item(fy_sum(fy_double(line))) == 2998.0 * 2999 / 2);
}

// A step beyond the end takes the first element alone, however large it is.
static void the_largest_step(void **state) {
  (void)state;
  FyTensor *t = fy_arange(24, .dtype = FY_FLOAT32, .device = device);
  FyTensor *cube = fy_view(t, fy_shape(2, 3, 4));
  fy_set_requires_grad(cube, true);
  FyTensor *row = fy_slice(cube, 1, 1, INT64_MAX, INT64_MAX);
  assert_int_equal(fy_size_at(row, 1), 1);
  assert_values(fy_slice(fy_slice(row, 0, 1, 2, INT64_MAX), 2, 1, 4, INT64_MAX - 1), fy_doubles(17), 1, 0);
  fy_backward(fy_sum(fy_slice(row, 1, 0, 3, INT64_MAX)));
  assert_values(fy_select(fy_grad(cube), 0, 1), fy_doubles(0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0), 12, 0);
  assert_int_equal(fy_size_at(fy_slice(t, 0, 5, 5, INT64_MAX), 0), 0);
}

int main(int argc, char **argv) {
  struct CMUnitTest tests[CHANGES + 3];
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  for (int i = 0; i < CHANGES; i++)
    tests[i] = (struct CMUnitTest){
        .name = changes[i].name, .test_func = test_change, .initial_state = (void *)(uintptr_t)&changes[i]};
  tests[CHANGES] = (struct CMUnitTest)cmocka_unit_test(results_stay_in_their_memory);
  tests[CHANGES + 1] = (struct CMUnitTest)cmocka_unit_test(a_target_that_is_also_an_operand);
  tests[CHANGES + 2] = (struct CMUnitTest)cmocka_unit_test(the_largest_step);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
