// SPDX-License-Identifier: MIT
// Exercise 28.1: softmax of rows, with the maximum and the sum in one pass.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/28_kernels_of_a_network.md#softmax-what-a-row-agrees-on"

static const Mistake OVERFLOW = {
    "the maximum was not taken off",
    "e^x of a large x is more than a float holds, and infinity divided by infinity is NaN. "
    "Take the row's maximum off every number first.",
    LESSON};
static const Mistake UNDERFLOW = {
    "a number taken for the smallest",
    "All numbers of a row may be far below 0, and below -1e30. A thread that has met no number yet holds "
    "-INFINITY.",
    LESSON};
static const Mistake NOT_SCALED = {
    "the sum was not scaled",
    "A row's shares do not add up to 1. When a larger number comes, the sum so far was made with a "
    "smaller maximum: multiply it by e^(old - new). The same where two threads' sums meet.",
    LESSON};
static const Mistake NO_NUMBER = {
    "a thread without numbers",
    "In a short row some threads meet no number: their maximum is -INFINITY, and -INFINITY less -INFINITY is NaN.",
    LESSON};
static const Mistake FIRST = {"only the first columns",
                              "Columns beyond the block's threads were left as they were. A row may be longer: each "
                              "thread goes on in steps of the block.",
                              LESSON};
static const Mistake BESIDE = {
    "neighbouring lanes far apart",
    "A warp's request touched many more sectors than its bytes need: its lanes read from different rows, or each has a "
    "piece "
    "of the row to itself. Let the threads of a block share a row, and neighbours read neighbouring columns.",
    "docs/22_global_memory.md#a-ladder-of-strides"};
static const Mistake SEVERAL = {"more than one launch", "One launch does it, for all rows.", LESSON};
static const Mistake EMPTY_GRID = {"a grid of no blocks",
                                   "For no rows a grid of no blocks is an invalid configuration.", LESSON};

static const Mistake ROUNDED = {
    "rounded before the maximum came off",
    "The shares are near what they should be, and no nearer: x was multiplied while it was large, and rounded there. "
    "x less the maximum is exact where it matters: take it off first, and multiply by log2(e) after that.",
    LESSON};
static const Mistake THREE_TIMES = {
    "more than two readings",
    "A row is read once for its maximum and its sum together, and once more to write: a larger number "
    "scales the sum so far.",
    LESSON};
static const Mistake CUT_OFF = {
    "small shares are not right",
    "A float holds shares down to 1e-38: e^(x - most) is worked out for each number, however far below the maximum.",
    LESSON};

static void ask(Case *c, int64_t rows, int64_t columns, double low, double high) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, columns), low, high), (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
}
static void ask_whole(Case *c) {
  ask(c, draw_int(c, 9, 17), 256, -20, 20);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 9, 17), draw_odd(c, 257, 399), -20, 20);
}
static void ask_short(Case *c) {
  ask(c, draw_odd(c, 9, 33), draw_odd(c, 3, 29), -3, 3);
}
static void ask_high(Case *c) {
  ask(c, draw_odd(c, 5, 9), draw_odd(c, 131, 299), 15900, 16000);
}
static void ask_low(Case *c) {
  ask(c, draw_odd(c, 5, 9), draw_odd(c, 131, 299), -16000, -15900);
}
// Far below whatever stands for the smallest number, if it is not -INFINITY; the largest of a row comes several times.
static void ask_huge(Case *c) {
  const int64_t rows = draw_odd(c, 5, 9), columns = draw_odd(c, 33, 299);
  Array *x = new_array(c, FY_FLOAT32, shape(rows, columns));
  for (int64_t i = 0; i < x->count; i++)
    x->f32[i] = (float)draw_int(c, -9, -3) * 1e37f;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
}
static void ask_long(Case *c) {
  ask(c, draw_odd(c, 31, 49), draw_odd(c, 3001, 3999), -9, 9);
}
// Threads that meet no number, and more rows than somebody may have given blocks.
static void ask_many_short(Case *c) {
  ask(c, draw_odd(c, 1031, 1299), draw_odd(c, 3, 29), -260, -200);
}
static void ask_none_first(Case *c) {
  ask(c, 5, 7, -9, 9);
  give_number(c, "none first", 1);
}

static Array *softmax(Case *c) {
  const Array *x = given(c, "x");
  int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t row = 0; row < rows; row++) {
    const float *in = x->f32 + row * columns;
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < columns; k++)
      most = fmax(most, (double)in[k]);
    for (int64_t k = 0; k < columns; k++)
      sum += exp((double)in[k] - most);
    for (int64_t k = 0; k < columns; k++)
      out->f32[row * columns + k] = (float)(exp((double)in[k] - most) / sum);
  }
  return out;
}

// What came back: nothing but NaN that was computed, in every row what is right times a factor of its own below 1, the first columns
// alone?
typedef struct Seen {
  bool nan, scaled, tail_left;
  bool near; // each to a hundredth, and all rows add up to 1
} Seen;

// Is the row a factor times what is right? The factor, or 0.
static double factor_of(const float *row, const float *want, int64_t columns) {
  double had = 0, right = 0;
  for (int64_t k = 0; k < columns; k++) {
    had += (double)row[k];
    right += (double)want[k];
  }
  const double factor = had / right;
  for (int64_t k = 0; k < columns; k++)
    if (!(fabs((double)row[k] - factor * (double)want[k]) <= 1e-3 * fabs(factor)))
      return 0;
  return factor;
}

static Seen look(const Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  const int64_t columns = want->shape.size[1], end = columns_written(out);
  if (!out || out->count == 0)
    return (Seen){.nan = false};
  Seen seen = {.nan = true, .tail_left = end > 0 && end < columns};
  int64_t less = 0, other = 0;
  for (int64_t i = 0; i < out->count; i++)
    seen.nan &= isnan(out->f32[i]) && !array_is_filling(out, i);
  for (int64_t i = 0; i < out->count; i += columns) {
    const double factor = factor_of(out->f32 + i, want->f32 + i, columns);
    less += factor > 0 && factor < 1 - 1e-3;
    other += !(factor > 0 && factor < 1 + 1e-3);
  }
  seen.near = true;
  for (int64_t i = 0; i < out->count; i++)
    seen.near &= fabs((double)out->f32[i] - (double)want->f32[i]) <= 1e-2 * (double)want->f32[i] + 1e-30;
  for (int64_t i = 0; i < out->count; i += columns) {
    double sum = 0;
    for (int64_t k = i; k < i + columns; k++)
      sum += (double)out->f32[k];
    seen.near &= fabs(sum - 1) < 1e-5;
  }
  seen.scaled = less > 0 && other == 0; // a sum that is too large
  return seen;
}

// Is each share, but for one factor in a row, what it becomes if numbers and maximum are multiplied by log2(e) before their difference is
// taken, in two roundings or in one?
static bool is_multiplied_first(Case *c, const Array *want) {
  const Array *x = given(c, "x"), *out = got_shaped(c, "out", want->shape);
  const int64_t columns = want->shape.size[1];
  const float log2_e = 1.44269504f;
  double *shares = new_array(c, FY_FLOAT64, shape(columns))->f64;
  bool found = false;
  for (int once = 0; out && once < 2 && !found; once++) {
    found = out->count > 0;
    for (int64_t i = 0; found && i < out->count; i += columns) {
      float most = -INFINITY;
      double had = 0, sum = 0;
      for (int64_t k = 0; k < columns; k++)
        most = fmaxf(most, x->f32[i + k]);
      const float off = most * log2_e;
      for (int64_t k = 0; k < columns; k++) {
        const volatile float product = x->f32[i + k] * log2_e; // rounded, whatever the compiler would make of both
        shares[k] = exp2((double)(once ? fmaf(x->f32[i + k], log2_e, -off) : product - off));
        sum += shares[k];
        had += (double)out->f32[i + k];
      }
      for (int64_t k = 0; k < columns; k++) {
        const double share = shares[k] / sum * had;
        found = found && fabs((double)out->f32[i + k] - share) <= 1e-5 * share + 1e-30;
      }
    }
  }
  return found;
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  Array *want = softmax(c);
  const Seen seen = look(c, want);
  const bool small = x->count > 0 && fabs((double)x->f32[0]) < 30;
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, x->count > 0 && counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, seen.tail_left, &FIRST);
  suspect_that(c, seen.nan && !small && x->f32[0] > 0, &OVERFLOW);
  suspect_that(c, seen.nan && !small && x->f32[0] < 0, &UNDERFLOW);
  suspect_that(c, seen.nan && small && x->shape.size[1] < 32, &NO_NUMBER);
  suspect_that(c, seen.scaled, &NOT_SCALED);
  suspect_that(c, !small && (seen.near || is_multiplied_first(c, want)), &ROUNDED);
  if (!expect_array(c, "out", want, 2e-5))
    return;
  const Array *out = got_shaped(c, "out", want->shape);
  for (int64_t i = 0; out && i < want->count; i++) {
    const double had = (double)out->f32[i], right = (double)want->f32[i];
    if (right > 1e-30 &&
        !expect_that(c, fabs(had - right) <= 1e-3 * right, &CUT_OFF, "out[%lld][%lld] is %g, and should be %g",
                     (long long)(i / want->shape.size[1]), (long long)(i % want->shape.size[1]), had, right))
      return;
  }
  if (want->count > 0 && !expect_by_kernel(c))
    return;
  expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
  expect_no_finding(c);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_sectors(c, 1.5, &BESIDE);
  // A sector has 8 floats: two readings are a quarter of x's elements.
  expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "x")->count / 8 * 2.5, &THREE_TIMES);
}

EXERCISE = {
    .id = "28_1_online_softmax",
    .title = "Online softmax",
    .after_pass = "Maximum and sum can be carried along together: a new maximum scales the old sum.",
    .kind = "kernel",
    .chapter = 28,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .essential = true,
    .lesson = LESSON,
    .hints =
        {"A block for each row; each thread goes through its columns in steps of the block.",
         "For each number: larger = max(most, x); sum = sum * e^(most - larger) + e^(x - larger); most = larger.",
         "Two pairs: most = the larger one; each sum times e^(its own maximum - most). Over a warp by __shfl_xor_sync, "
         "then over the warps through shared memory and a barrier.",
         "If both maxima are -INFINITY there is no number on either side: leave the sum at 0."},
    .functions = {"softmax_on_device"},
    .tests = {{.name = "whole blocks: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "rows shorter than a warp", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "large numbers", .ask = ask_high, .judge = judge},
              {.name = "far below zero", .ask = ask_low, .judge = judge},
              {.name = "below -1e30", .ask = ask_huge, .judge = judge, .schedules = 1},
              {.name = "many short rows", .ask = ask_many_short, .judge = judge, .inspect = true},
              {.name = "long rows", .ask = ask_long, .judge = judge},
              {.name = "no rows, then some", .ask = ask_none_first, .judge = judge}},
};
