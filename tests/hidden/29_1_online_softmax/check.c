// SPDX-License-Identifier: MIT
// Exercise 29.1: softmax of rows, with the maximum and the sum in one pass.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/29_fusion.md#softmax-and-online-softmax"

static const Mistake UNSTABLE = {"numerically unstable softmax",
                                 "e^x overflows if x is large, and is 0 if x is far below 0. Subtract the row's "
                                 "maximum first. Start the maximum at -INFINITY, not at 0.",
                                 LESSON};
static const Mistake NOT_SCALED = {
    "unscaled partial sum",
    "The sum of a row is too large. When the maximum grows, multiply the previous sum by e^(old maximum - new "
    "maximum). Do the same when you combine the sums of two threads.",
    LESSON};
static const Mistake NO_ELEMENT = {"NaN from infinity minus infinity",
                                   "In a short row, some threads have no element, so their maximum is -INFINITY. "
                                   "-INFINITY - -INFINITY is NaN. If both maxima are -INFINITY, leave the sum at 0.",
                                   LESSON};
static const Mistake FIRST = {"columns past the block size skipped",
                              "A row may have more columns than the block has threads. Let each thread loop over the "
                              "columns with stride blockDim.x.",
                              LESSON};
static const Mistake RELOADED = {"more than two passes over the input",
                                 "The kernel loads each row once for the maximum, once for the sum and once for the "
                                 "output. Update the maximum and the sum in the same loop.",
                                 LESSON};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "The lanes of a warp access elements that are far apart. Let the threads of a block or a warp share a row, and let "
    "neighboring threads access neighboring columns.",
    "docs/22_global_memory.md#strided-access"};
static const Mistake LAUNCHES = {"more than one launch",
                                 "You launch several kernels. One kernel can reduce a row and also write the output.",
                                 LESSON};
static const Mistake EMPTY_GRID = {
    "empty grid", "For rows = 0, a grid of 0 blocks is an invalid configuration. Launch nothing.", LESSON};

static void ask(Case *c, int64_t rows, int64_t columns, double low, double high) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, columns), low, high), (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
}
// Rows of which a warp can have one each, and whole sectors: the number of sectors tells how often x is loaded.
static void ask_whole(Case *c) {
  ask(c, 32, 256, -4, 4);
}
static void ask_one(Case *c) {
  ask(c, 1, 64, -3, 3);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 9, 17), draw_odd(c, 257, 399), -4, 4);
}
static void ask_short(Case *c) {
  ask(c, draw_odd(c, 9, 33), draw_odd(c, 3, 29), -3, 3);
}
// At least as many columns as a block has threads: each thread has an element.
static void ask_high(Case *c) {
  ask(c, draw_odd(c, 5, 9), draw_odd(c, 1025, 1299), 980, 1000);
}
static void ask_low(Case *c) {
  ask(c, draw_odd(c, 5, 9), draw_odd(c, 1025, 1299), -1000, -980);
}
static void ask_long(Case *c) {
  ask(c, draw_odd(c, 31, 49), draw_odd(c, 3001, 3999), -9, 9);
}
// Threads without an element, and more rows than a grid of fixed size has blocks.
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

// All elements are computed NaNs; each row is its softmax times a factor below 1, and not the same one in all rows; only the first
// columns were written.
typedef struct Seen {
  bool nan, scaled, tail_left;
} Seen;

// The factor by which a row differs from its softmax, or 0.
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
  Seen seen = {.nan = true, .tail_left = end > 0 && end < columns && end % 32 == 0};
  double least = INFINITY, most = 0;
  for (int64_t i = 0; i < out->count; i++)
    seen.nan &= isnan(out->f32[i]) && !array_is_filling(out, i);
  for (int64_t i = 0; i < out->count; i += columns) {
    const double factor = factor_of(out->f32 + i, want->f32 + i, columns);
    least = fmin(least, factor);
    most = fmax(most, factor);
  }
  seen.scaled = least > 0 && least < 1 - 1e-3 && most < 1 + 1e-3 && most - least > 1e-3 * most;
  return seen;
}

// To a thousandth where an element is not tiny.
static bool expect_elements(Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  for (int64_t i = 0; out && i < want->count; i++) {
    const double had = (double)out->f32[i], right = (double)want->f32[i];
    if (!expect_that(c, fabs(had - right) <= 1e-3 * right + 1e-7, NULL, "out[%lld, %lld]: expected %g, got %g",
                     (long long)(i / want->shape.size[1]), (long long)(i % want->shape.size[1]), right, had))
      return false;
  }
  return true;
}

static void suspect_mistakes(Case *c, const Array *want) {
  const Array *x = given(c, "x");
  const Seen seen = look(c, want);
  const bool far = fabs((double)x->f32[0]) > 100;
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, seen.tail_left, &FIRST);
  suspect_that(c, seen.nan && far, &UNSTABLE);
  suspect_that(c, seen.nan && !far && x->shape.size[1] < 32, &NO_ELEMENT);
  suspect_that(c, seen.scaled, &NOT_SCALED);
}

static void judge(Case *c) {
  Array *want = softmax(c);
  suspect_mistakes(c, want);
  if (!expect_array(c, "out", want, 1e-5) || !expect_elements(c, want) || !expect_by_kernel(c))
    return;
  expect_at_most(c, "kernel launches", counts(c)->launches, 1, &LAUNCHES);
  expect_no_finding(c);
}

// Sectors that would do for the elements that are loaded: not what a bad access pattern adds. Nothing is known of it if few lanes load.
static void judge_traffic(Case *c) {
  judge(c);
  const Where all = {.in_all = true};
  if (case_inspected(c) && inspected(c, ACTIVE_LANES, all) > 0.5) {
    const double least = inspected(c, SECTORS_LOADED, all) / inspected(c, LOADED_SECTORS, all);
    const double times = least * 8 / (double)given(c, "x")->count;
    expect_that(c, times <= 2.75, &RELOADED, "x is loaded %.1f times, expected at most 2.75 times", times);
  }
  expect_sectors(c, 1.5, &UNCOALESCED);
}

EXERCISE = {
    .id = "29_1_online_softmax",
    .title = "Online softmax",
    .after_pass =
        "Online softmax updates the maximum and the sum together. When the maximum grows, it rescales the sum.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .essential = true,
    .lesson = LESSON,
    .stars = {{"coalesced: at most 1.5 x the ideal sectors per request", {&UNCOALESCED}},
              {"one kernel launch", {&LAUNCHES}}},
    .hints =
        {"Use one block per row. Each thread loops over its columns with the block size as the stride, and keeps its "
         "own maximum and sum.",
         "For each element: larger = fmaxf(max, x); sum = sum * expf(max - larger) + expf(x - larger); max = "
         "larger.",
         "To combine two pairs of maximum and sum, take the larger maximum. Multiply each sum by e^(its own maximum - "
         "the larger maximum), and add the two sums. Do this within a warp with __shfl_xor_sync, then between the "
         "warps through shared memory.",
         "A thread without an element has max = -INFINITY and sum = 0. If both maxima are -INFINITY, leave the sum "
         "at 0."},
    .functions = {"softmax_on_device"},
    .tests = {{.name = "one row", .ask = ask_one, .judge = judge, .inspect = true},
              {.name = "32 rows of 256: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "rows shorter than a warp", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "large x", .ask = ask_high, .judge = judge},
              {.name = "x far below 0", .ask = ask_low, .judge = judge},
              {.name = "many short rows", .ask = ask_many_short, .judge = judge, .inspect = true},
              {.name = "long rows", .ask = ask_long, .judge = judge},
              {.name = "no rows first, then 5 rows", .ask = ask_none_first, .judge = judge}},
};
