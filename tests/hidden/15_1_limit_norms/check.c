// SPDX-License-Identifier: MIT
// Exercise 15.1: a function to be traced. In the program with the bug, branch, factors and number of rows are frozen.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define BRANCH "docs/15_tracing.md#control-flow-is-not-traced"
#define SHAPES "docs/15_tracing.md#input-shapes-of-a-trace"

static const Mistake CUT = {
    "norms detached from the graph",
    "The gradient treats the factors as constants. Compute the norms with gradients enabled, and do not detach them.",
    BRANCH};
static const Mistake FROZEN = {"data-dependent branch in a trace",
                               "The trace leaves all rows unchanged, which was correct only for the example. Replace "
                               "the `if` with an operation such as fy_clamp or fy_where.",
                               BRANCH};
static const Mistake NUMBER = {"values of the example in the trace",
                               "The trace uses the factors of the example. Numbers that the host read, or put into a "
                               "tensor, are constants in a trace. Compute the factors with operations on tensors.",
                               BRANCH};
static const Mistake ROWS = {"loop over rows in a trace",
                             "The trace handles only as many rows as the example, because tracing unrolls a C loop. "
                             "Compute all rows with one operation.",
                             SHAPES};
static const Mistake UNCHANGED = {
    "rows not shortened", "Rows whose norm exceeds the limit are unchanged. Multiply them by limit / norm.", BRANCH};
static const Mistake SHORT = {"short rows lengthened",
                              "Leave rows whose norm is at most the limit unchanged. Their factor is 1.", BRANCH};
static const Mistake ZEROS = {"division by zero",
                              "A row of zeros became NaN, from 0 / 0 or 0 * infinity. Multiply the row by a finite "
                              "factor.",
                              BRANCH};
static const Mistake WHOLE = {"one norm for all rows", "Each row has its own norm. Sum over dimension 1 only.", BRANCH};
static const Mistake COLUMNS = {"norms of the columns",
                                "You summed over dimension 0. The norm of a row is a sum over dimension 1.", BRANCH};
static const Mistake SQUARE = {"missing square root", "The norm is the square root of the sum of squares.", BRANCH};
static const Mistake ELEMENTS = {"elements clamped", "You clamped each element. Multiply the whole row by one factor.",
                                 BRANCH};
static const Mistake WAITED = {
    "host synchronization",
    "The host waited for the device, or copied a tensor. Read no values, because they become constants in a trace.",
    "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake CANCELED = {"catastrophic cancellation",
                                 "1 - (1 - factor) loses the digits of a small factor. Use fy_clamp or fy_where on the "
                                 "factor itself.",
                                 BRANCH};
static const Mistake NOTHING = {"no result returned", "Return a tensor with the shape of x.", BRANCH};
static const Mistake ON_HOST = {"result on the wrong device", "Return the result on the device of x.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};

// ---- asking ----------------------------------------------------------------------------------------------------------

// The lengths of the rows repeat, in units of the limit; 0: a row of zeros.
typedef struct Ask {
  const char *device;
  int64_t rows, example_rows;
  double lengths[3], example_lengths[3];
} Ask;

static double norm_of(const Array *x, int64_t row) {
  const int64_t columns = x->shape.size[1];
  double sum = 0;
  for (int64_t k = 0; k < columns; k++)
    sum += (double)x->f32[row * columns + k] * x->f32[row * columns + k];
  return sqrt(sum);
}

static Array *rows_of(Case *c, int64_t rows, int64_t columns, const double *lengths, double limit) {
  Array *x = draw_array(c, FY_FLOAT32, shape(rows, columns), 0.25, 1);
  for (int64_t i = 0; i < rows; i++) {
    const double factor = lengths[i % 3] * draw_real(c, 0.9, 1.1) * limit / norm_of(x, i);
    for (int64_t k = 0; k < columns; k++)
      x->f32[i * columns + k] *= (float)(draw_int(c, 0, 1) ? factor : -factor);
  }
  return x;
}

static void ask_limited(Case *c, Ask a, double limit) {
  const int64_t columns = draw_odd(c, 5, 9);
  give_text(c, "device", a.device);
  give_number(c, "limit", limit);
  give_array(c, "x", rows_of(c, a.rows, columns, a.lengths, limit), (Give){.device = a.device});
  give_array(c, "example", rows_of(c, a.example_rows, columns, a.example_lengths, limit), (Give){.device = a.device});
}

static void ask(Case *c, Ask a) {
  ask_limited(c, a, draw_real(c, 2.5, 3.5));
}

static void ask_short_example(Case *c) {
  ask(c, (Ask){"cpu", draw_odd(c, 9, 15), draw_int(c, 4, 7), {3, 0.5, 2}, {0.5, 0.3, 0.7}});
}
static void ask_long_example(Case *c) {
  ask(c, (Ask){"cpu", draw_odd(c, 9, 15), draw_int(c, 4, 7), {0.5, 2, 0.3}, {2, 3, 5}});
}
static void ask_fewer_rows(Case *c) {
  ask(c, (Ask){"cpu", draw_int(c, 3, 5), draw_odd(c, 9, 15), {2, 0.4, 3}, {0.5, 2, 0.6}});
}
// Lengths far below 1.
static void ask_small(Case *c) {
  ask_limited(c, (Ask){"cpu", draw_odd(c, 9, 15), draw_int(c, 4, 7), {3, 0.5, 2}, {0.5, 2, 0.3}},
              draw_real(c, 1, 2) / 1024);
}
// Factors far below 1. As differences of numbers near 1 they would lose their digits.
static void ask_very_long(Case *c) {
  ask(c, (Ask){"cpu", draw_odd(c, 9, 15), draw_int(c, 4, 7), {1e6, 0.5, 3e5}, {0.5, 2, 0.3}});
}
static void ask_as_many(Case *c) {
  const int64_t rows = draw_odd(c, 5, 9);
  ask(c, (Ask){"cpu", rows, rows, {3, 0.5, 2}, {0.5, 4, 5}});
}
static void ask_zeros(Case *c) {
  ask(c, (Ask){"cpu", draw_odd(c, 9, 15), draw_int(c, 4, 7), {0, 2, 0.5}, {0.5, 0.2, 0.5}});
}
static void ask_cuda(Case *c) {
  ask(c, (Ask){"cuda:0", draw_odd(c, 33, 65), draw_int(c, 4, 7), {3, 0.5, 2}, {0.5, 0.3, 0.7}});
}
static void ask_second(Case *c) {
  ask(c, (Ask){"cuda:1", draw_odd(c, 9, 15), draw_int(c, 4, 7), {3, 0.5, 0}, {2, 3, 5}});
}

// ---- the right result, and those of mistakes ------------------------------------------------------------------------------

typedef double Factor(double norm, double whole, double limit);

static double right(double norm, double whole, double limit) {
  (void)whole;
  return norm > limit ? limit / norm : 1;
}
static double always(double norm, double whole, double limit) {
  (void)whole;
  return norm > 0 ? limit / norm : 1;
}
static double by_whole(double norm, double whole, double limit) {
  (void)norm;
  return whole > limit ? limit / whole : 1;
}
static double by_square(double norm, double whole, double limit) {
  (void)whole;
  return norm * norm > limit ? limit / (norm * norm) : 1;
}
// 1 - (1 - factor) where a factor is float32.
static double by_difference(double norm, double whole, double limit) {
  (void)whole;
  const float factor = (float)(limit / norm), rest = 1 - factor;
  return rest > 0 ? (double)(1 - rest) : 1;
}

static Array *scaled(Case *c, Factor *factor) {
  const Array *x = given(c, "x");
  Array *result = new_array(c, FY_FLOAT32, x->shape);
  const int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  double whole = 0;
  for (int64_t i = 0; i < rows; i++)
    whole += norm_of(x, i) * norm_of(x, i);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t k = 0; k < columns; k++)
      result->f32[i * columns + k] =
          (float)(x->f32[i * columns + k] * factor(norm_of(x, i), sqrt(whole), given_number(c, "limit")));
  return result;
}

static Array *scaled_by_columns(Case *c) {
  const Array *x = given(c, "x");
  Array *result = new_array(c, FY_FLOAT32, x->shape);
  const int64_t columns = x->shape.size[1];
  for (int64_t k = 0; k < columns; k++) {
    double squares = 0;
    for (int64_t i = k; i < x->count; i += columns)
      squares += (double)x->f32[i] * x->f32[i];
    for (int64_t i = k; i < x->count; i += columns)
      result->f32[i] = (float)(x->f32[i] * right(sqrt(squares), 0, given_number(c, "limit")));
  }
  return result;
}

static Array *cut(Case *c) {
  const Array *x = given(c, "x");
  const float limit = (float)given_number(c, "limit");
  Array *result = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++)
    result->f32[i] = x->f32[i] > limit ? limit : x->f32[i] < -limit ? -limit : x->f32[i];
  return result;
}

// Each row multiplied by the factor of the same row of the example.
static Array *with_numbers_of_the_example(Case *c) {
  const Array *x = given(c, "x"), *example = given(c, "example");
  Array *result = new_array(c, FY_FLOAT32, x->shape);
  const int64_t columns = x->shape.size[1];
  for (int64_t i = 0; i < x->count; i++)
    result->f32[i] = (float)(x->f32[i] * right(norm_of(example, i / columns), 0, given_number(c, "limit")));
  return result;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// There is a NaN in a row of zeros, and in no other row.
static bool zeros_are_nan(const Case *c) {
  const Array *x = given(c, "x"), *called = got_shaped(c, "called", x->shape);
  int64_t in_zeros = 0, elsewhere = 0;
  for (int64_t i = 0; called && called->dtype == FY_FLOAT32 && i < x->count; i++)
    if (isnan(called->f32[i]))
      *(norm_of(x, i / x->shape.size[1]) == 0 ? &in_zeros : &elsewhere) += 1;
  return in_zeros > 0 && elsewhere == 0;
}

static void suspects_of_the_function(Case *c) {
  suspect_that(c, !*got_error(c) && !got(c, "called"), &NOTHING);
  suspect_that(c, zeros_are_nan(c), &ZEROS);
  suspect_array(c, "called", given(c, "x"), &UNCHANGED);
  suspect_array(c, "called", scaled(c, always), &SHORT);
  suspect_array(c, "called", scaled(c, by_whole), &WHOLE);
  suspect_array(c, "called", scaled_by_columns(c), &COLUMNS);
  suspect_array(c, "called", scaled(c, by_square), &SQUARE);
  suspect_array(c, "called", cut(c), &ELEMENTS);
  suspect_array(c, "called", scaled(c, by_difference), &CANCELED);
  const char *device = got_device(c, "called");
  suspect_that(c, strcmp(device, "cpu") == 0 && strcmp(given_text(c, "device"), "cpu") != 0, &ON_HOST);
  suspect_error(c, "as it was for the example", &ROWS);
  if (got(c, "called")) // then the trace raised it
    suspect_error(c, "must match the size of tensor", &NUMBER);
}

// The function is right, its trace is not.
static void suspects_of_the_trace(Case *c) {
  const Array *x = given(c, "x"), *example = given(c, "example"), *traced = got(c, "traced");
  const bool same_rows = x->shape.size[0] == example->shape.size[0];
  suspect_that(c, !same_rows && traced && traced->shape.rank == 2 && traced->shape.size[0] == example->shape.size[0],
               &ROWS);
  suspect_array(c, "traced", x, &FROZEN);
  if (same_rows)
    suspect_array(c, "traced", with_numbers_of_the_example(c), &NUMBER);
}

// The gradient of x: g for a short row, and limit * (g - x (x . g) / norm^2) / norm for a long one.
static Array *gradient(Case *c) {
  const Array *x = given(c, "x"), *g = given(c, "gradient");
  const int64_t columns = x->shape.size[1];
  const double limit = given_number(c, "limit");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t row = 0; row < x->shape.size[0]; row++) {
    double squares = 0, along = 0;
    for (int64_t k = row * columns; k < (row + 1) * columns; k++) {
      squares += (double)x->f32[k] * x->f32[k];
      along += (double)x->f32[k] * g->f32[k];
    }
    const double norm = sqrt(squares);
    for (int64_t k = row * columns; k < (row + 1) * columns; k++)
      out->f32[k] = norm <= limit ? g->f32[k] : (float)(limit * (g->f32[k] - x->f32[k] * along / squares) / norm);
  }
  return out;
}

static Array *gradient_of_constant_factors(Case *c) {
  const Array *x = given(c, "x"), *g = given(c, "gradient");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++)
    out->f32[i] = (float)(g->f32[i] * right(norm_of(x, i / x->shape.size[1]), 0, given_number(c, "limit")));
  return out;
}

static void judge_gradient(Case *c) {
  suspect_error(c, "does not require grad", &CUT);
  if (!expect_array(c, "called", scaled(c, right), 1e-5))
    return;
  if (expect_that(c, got(c, "x.grad") != NULL, &CUT, "x.grad: missing")) {
    suspect_array(c, "x.grad", gradient_of_constant_factors(c), &CUT);
    expect_array(c, "x.grad", gradient(c), 1e-4);
  }
}

static void ask_gradient(Case *c) {
  const int64_t rows = draw_odd(c, 9, 15), columns = draw_odd(c, 5, 9);
  const double limit = draw_real(c, 2.5, 3.5);
  give_text(c, "device", "cpu");
  give_number(c, "limit", limit);
  give_array(c, "x", rows_of(c, rows, columns, (double[3]){3, 0.5, 2}, limit),
             (Give){.device = "cpu", .requires_grad = true});
  give_array(c, "example", rows_of(c, 5, columns, (double[3]){0.5, 2, 0.3}, limit), (Give){.device = "cpu"});
  give_array(c, "gradient", draw_array(c, FY_FLOAT32, shape(rows, columns), -1, 1), (Give){.device = "cpu"});
}

// The tolerance of expect_array is absolute below 1; this one is relative. An epsilon of 1e-6, as PyTorch adds, is within it.
static bool judge_lengths(Case *c, const Array *result) {
  const double limit = given_number(c, "limit");
  for (int64_t i = 0; i < result->shape.size[0]; i++)
    if (norm_of(given(c, "x"), i) > limit &&
        !expect_that(c, fabs(norm_of(result, i) - limit) <= 1e-2 * limit, NULL,
                     "row %lld has length %g, expected the limit, %g", (long long)i, norm_of(result, i), limit))
      return false;
  return true;
}

static void judge(Case *c) {
  const Array *want = scaled(c, right);
  suspects_of_the_function(c);
  if (!expect_array(c, "called", want, 1e-5) || !expect_device(c, "called", given_text(c, "device"), &ON_HOST) ||
      !judge_lengths(c, got(c, "called")))
    return;
  suspects_of_the_trace(c);
  if (!expect_array(c, "traced", want, 1e-5))
    return;
  expect_at_most(c, "host synchronizations", counts(c)->synchronizations, 0, &WAITED);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, &WAITED);
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, &WAITED);
}

EXERCISE = {
    .id = "15_1_limit_norms",
    .title = "Find the bug: limit the norms",
    .after_pass = "Tracing records the operations of one run. Branches, loops and values that the host reads are "
                  "frozen in the trace.",
    .kind = "find the bug",
    .chapter = 15,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .essential = true,
    .bug = true,
    .lesson = BRANCH,
    .stars = {{"no copies, no host synchronization", {&WAITED}}},
    .hints = {"Trace the function, and print the graph. Which operations does it contain, and which numbers?",
              "What depends on the values of x, or on its number of rows? A trace records only operations on tensors, "
              "so use such operations for all of it.",
              "fy_sum_dim(fy_mul(x, x), 1, true) has shape (rows, 1), which broadcasts against x. fy_clamp sets the "
              "factor of a short row to 1. You need no if, no fy_item and no loop."},
    .functions = {"limit_norms"},
    .tests = {{.name = "an example of short rows", .ask = ask_short_example, .judge = judge},
              {.name = "an example of long rows", .ask = ask_long_example, .judge = judge},
              {.name = "fewer rows than the example", .ask = ask_fewer_rows, .judge = judge},
              {.name = "as many rows as the example", .ask = ask_as_many, .judge = judge},
              {.name = "rows of zeros", .ask = ask_zeros, .judge = judge},
              {.name = "a small limit", .ask = ask_small, .judge = judge},
              {.name = "very long rows", .ask = ask_very_long, .judge = judge},
              {.name = "the gradient of x", .ask = ask_gradient, .judge = judge_gradient},
              {.name = "on a GPU", .ask = ask_cuda, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_short_example, .judge = judge, .no_cuda = true}},
};
