// SPDX-License-Identifier: MIT
// Exercise 15.1: find the bug, a frozen branch. Three things are frozen: the branch, the factor, the number of rows.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define BRANCH "docs/15_tracing.md#a-frozen-branch"
#define SHAPES "docs/15_tracing.md#other-shapes"

static const Mistake CUT = {
    "a part without gradients",
    "The factors of long rows depend on x, and so does their gradient: nothing on the way from x to the result "
    "is detached, or computed in fy_no_grad.",
    BRANCH};
static const Mistake FROZEN = {
    "a frozen branch",
    "Called, the function is right. Its trace left all rows as they are, as was right for the example: "
    "what an `if` decided then is decided for ever.",
    BRANCH};
static const Mistake NUMBER = {
    "numbers of the example",
    "Called, the function is right. Its trace uses the factors that were right for the example: what "
    "was read from a tensor, or put into one by the host, is a constant of the trace.",
    BRANCH};
static const Mistake ROWS = {"the number of rows of the example",
                             "The trace does as many rows as the example had: a loop in C is not in it, only what each "
                             "turn called.",
                             SHAPES};
static const Mistake UNCHANGED = {"left as it was", "Rows that are too long came back as they were.", BRANCH};
static const Mistake SHORT = {"short rows made longer", "Rows shorter than the limit are to stay as they are.", BRANCH};
static const Mistake ZEROS = {"rows of zeros divided by their norm",
                              "A row of zeros became NaN: zero was divided by zero, or multiplied by infinity.",
                              BRANCH};
static const Mistake WHOLE = {"one norm for all rows", "Each row has a norm of its own: sum over dimension 1.", BRANCH};
static const Mistake COLUMNS = {"the norms of the columns",
                                "A row's norm is the root of the sum over its columns: sum over dimension 1, not 0.",
                                BRANCH};
static const Mistake SQUARE = {"the square of the norm", "The norm is the root of the sum of the squares.", BRANCH};
static const Mistake ELEMENTS = {"elements cut off",
                                 "Each element was cut at the limit; a row is to be shortened as a whole.", BRANCH};
static const Mistake WAITED = {"values read on the host",
                               "The CPU waited for a value: what was read is a constant of the trace, too.",
                               "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake NEAR = {
    "about as long as the limit",
    "Long rows came out shorter than the limit by more than rounding: what is added to a norm, to keep "
    "a division from zero, counts where norms are small.",
    BRANCH};
static const Mistake CANCELLED = {
    "digits lost in a difference",
    "Of very long rows the factor is far below 1. As 1 - (1 - factor) it has only the digits that a number near 1 has: "
    "clamp it, or choose by fy_where.",
    BRANCH};
static const Mistake CHANGED = {"the caller's tensor changed", "x was to stay as it is.",
                                "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake NOTHING = {"nothing returned", "The function has to return a tensor.", BRANCH};
static const Mistake ON_HOST = {"the result on the CPU", "The result was to be on x's device.",
                                "docs/03_tensor_moves.md#made-there-in-the-first-place"};

// ---- asking ----------------------------------------------------------------------------------------------------------

// Rows of about these lengths in turn, in units of the limit; 0: all zeros.
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
// Lengths far below 1: what is added to keep a division from zero is not small against them.
static void ask_small(Case *c) {
  ask_limited(c, (Ask){"cpu", draw_odd(c, 9, 15), draw_int(c, 4, 7), {3, 0.5, 2}, {0.5, 2, 0.3}},
              draw_real(c, 1, 2) / 1024);
}
// Factors far below 1: as differences of numbers near 1 they would have few digits left.
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

// ---- what is right, and what mistakes make of it -------------------------------------------------------------------------

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

// Each row by the factor that was right for the row of the example.
static Array *with_numbers_of_the_example(Case *c) {
  const Array *x = given(c, "x"), *example = given(c, "example");
  Array *result = new_array(c, FY_FLOAT32, x->shape);
  const int64_t columns = x->shape.size[1];
  for (int64_t i = 0; i < x->count; i++)
    result->f32[i] = (float)(x->f32[i] * right(norm_of(example, i / columns), 0, given_number(c, "limit")));
  return result;
}

static bool differs(const Array *a, const Array *b) {
  for (int64_t i = 0; a && a->count == b->count && i < a->count; i++)
    if (a->f32[i] != b->f32[i])
      return true;
  return false;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static void suspects_of_the_function(Case *c) {
  suspect_that(c, !*got_error(c) && !got(c, "called"), &NOTHING);
  suspect_that(c, array_has_nan(got(c, "called")), &ZEROS);
  suspect_array(c, "called", given(c, "x"), &UNCHANGED);
  suspect_array(c, "called", scaled(c, always), &SHORT);
  suspect_array(c, "called", scaled(c, by_whole), &WHOLE);
  suspect_array(c, "called", scaled_by_columns(c), &COLUMNS);
  suspect_array(c, "called", scaled(c, by_square), &SQUARE);
  suspect_array(c, "called", cut(c), &ELEMENTS);
  suspect_array(c, "called", scaled(c, by_difference), &CANCELLED);
  suspect_that(c, differs(got(c, "x"), given(c, "x")), &CHANGED);
  const char *device = got_device(c, "called");
  suspect_that(c, strcmp(device, "cpu") == 0 && strcmp(given_text(c, "device"), "cpu") != 0, &ON_HOST);
  suspect_error(c, "as it was for the example", &ROWS);
  suspect_error(c, "must match the size of tensor", &NUMBER);
}

// What the trace did where the function was right.
static void suspects_of_the_trace(Case *c) {
  const Array *x = given(c, "x"), *example = given(c, "example"), *traced = got(c, "traced");
  const bool same_rows = x->shape.size[0] == example->shape.size[0];
  suspect_that(c, !same_rows && traced && traced->shape.rank == 2 && traced->shape.size[0] == example->shape.size[0],
               &ROWS);
  suspect_array(c, "traced", x, &FROZEN);
  if (same_rows)
    suspect_array(c, "traced", with_numbers_of_the_example(c), &NUMBER);
}

// The gradient of x: of a short row the result's; of a long one, limit * (g - x (x . g) / norm^2) / norm.
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

static void judge_gradient(Case *c) {
  suspect_error(c, "does not require grad", &CUT);
  if (!expect_array(c, "called", scaled(c, right), 1e-5))
    return;
  if (expect_that(c, got(c, "x.grad") != NULL, &CUT, "x.grad: there is none")) {
    suspect_that(c, true, &CUT);
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

// expect_array allows for an absolute error below 1; lengths are compared with each other.
static bool judge_lengths(Case *c, const Array *result) {
  const double limit = given_number(c, "limit");
  for (int64_t i = 0; i < result->shape.size[0]; i++)
    if (norm_of(given(c, "x"), i) > limit &&
        !expect_that(c, fabs(norm_of(result, i) - limit) <= 1e-4 * limit,
                     fabs(norm_of(result, i) - limit) < 0.1 * limit ? &NEAR : NULL,
                     "row %lld: its length is %g in place of the limit, %g", (long long)i, norm_of(result, i), limit))
      return false;
  return true;
}

static void judge(Case *c) {
  const Array *x = given(c, "x"), *want = scaled(c, right);
  suspects_of_the_function(c);
  if (!expect_array(c, "called", want, 1e-5) || !expect_array(c, "x", x, 0) ||
      !expect_device(c, "called", given_text(c, "device"), &ON_HOST) || !judge_lengths(c, got(c, "called")))
    return;
  suspects_of_the_trace(c);
  if (!expect_array(c, "traced", want, 1e-5))
    return;
  expect_at_most(c, "synchronisations", counts(c)->synchronizations, 0, &WAITED);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, &WAITED);
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, &WAITED);
}

EXERCISE = {
    .id = "15_1_limit_norms",
    .title = "Find the bug: limit the norms",
    .after_pass = "A trace records the way that was taken; the other branch is not in it.",
    .kind = "find the bug",
    .chapter = 15,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .essential = true,
    .bug = true,
    .lesson = BRANCH,
    .hints =
        {"Trace it, and print the graph: which of the three steps of a row are in it, and with which numbers?",
         "All norms at once: a sum over dimension 1 that keeps it, (rows, 1). It broadcasts against x.",
         "A factor for every row, which is 1 for short ones: clamp does it, or where. No if, no fy_item, no loop."},
    .functions = {"limit_norms"},
    .tests = {{.name = "an example of short rows", .ask = ask_short_example, .judge = judge},
              {.name = "an example of long rows", .ask = ask_long_example, .judge = judge},
              {.name = "fewer rows than the example", .ask = ask_fewer_rows, .judge = judge},
              {.name = "as many rows as the example", .ask = ask_as_many, .judge = judge},
              {.name = "a small limit", .ask = ask_small, .judge = judge},
              {.name = "very long rows", .ask = ask_very_long, .judge = judge},
              {.name = "rows of zeros", .ask = ask_zeros, .judge = judge},
              {.name = "a gradient for x", .ask = ask_gradient, .judge = judge_gradient},
              {.name = "on a GPU", .ask = ask_cuda, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_short_example, .judge = judge, .no_cuda = true}},
};
