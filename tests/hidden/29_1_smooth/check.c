// SPDX-License-Identifier: MIT
// Exercise 29.1, find the bug: a bounds check is missing, and both ends have no neighbor.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/29_debugging_kernels.md#beyond-the-end"

static const Mistake BEYOND = {"out-of-bounds read",
                               "The first element has no neighbor before it, the last none after it, and the last "
                               "block has more threads than elements. Check each of the three.",
                               LESSON};
static const Mistake ZERO_ENDS = {"zero padding at the ends",
                                  "The element itself stands in for the missing neighbor, not a 0.", LESSON};
static const Mistake ENDS_LEFT = {
    "first and last element left out",
    "The ends have a result as well. Guard the reads of the neighbors, not the whole element.", LESSON};
static const Mistake ROUND = {
    "wrap-around at the ends",
    "The element itself stands in for the missing neighbor, not the element at the other end.", LESSON};
static const Mistake ROUNDED_DOWN = {
    "grid size rounded down", "With n / 256 blocks the last elements have no thread. Round up and check the bounds.",
    "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake BLOCK_ENDS = {"block boundary treated as array boundary",
                                   "The neighbors of the first and the last element of a block belong to other blocks, "
                                   "but they are elements of x. Read them.",
                                   LESSON};
static const Mistake OF_TWO = {"mean of two at the ends",
                               "The ends are a mean of three numbers as well: the element itself counts twice.",
                               LESSON};
static const Mistake SEVERAL = {"more than one launch", "One launch is enough: the ends need none of their own.",
                                LESSON};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), 1, 9), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 1001, 1999));
}
// More elements than 1024 blocks of 256 threads have.
static void ask_many(Case *c) {
  ask(c, draw_odd(c, 262145, 280001));
}
static void ask_whole(Case *c) {
  ask(c, 256 * draw_int(c, 2, 5));
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 3, 29));
}
static void ask_one(Case *c) {
  ask(c, 1);
}

typedef enum Ends { ITSELF, ZERO, ROUND_ABOUT } Ends;

static Array *smoothed(Case *c, Ends ends) {
  const Array *x = given(c, "x");
  const int64_t n = x->count;
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < n; i++) {
    const double own = x->f32[i];
    const double first = ends == ITSELF ? own : ends == ZERO ? 0 : (double)x->f32[n - 1];
    const double last = ends == ITSELF ? own : ends == ZERO ? 0 : (double)x->f32[0];
    out->f32[i] =
        (float)(((i > 0 ? (double)x->f32[i - 1] : first) + own + (i < n - 1 ? (double)x->f32[i + 1] : last)) / 3);
  }
  return out;
}

// The ends of chunks as if they were those of x; or the mean of two at the ends of x.
static Array *with_ends(Case *c, int64_t piece, bool of_two) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    const bool first = i % piece == 0, last = i % piece == piece - 1 || i == x->count - 1;
    const double own = x->f32[i], before = first ? of_two ? 0 : own : (double)x->f32[i - 1];
    const double after = last ? of_two ? 0 : own : (double)x->f32[i + 1];
    out->f32[i] = (float)((before + own + after) / (of_two ? 3 - first - last : 3));
  }
  return out;
}

// All but the first and the last are right, and nobody wrote these.
static bool ends_left(const Case *c, const Array *want) {
  const Array *out = got_shaped(c, "out", want->shape);
  const int64_t n = want->count;
  for (int64_t i = 1; out && i < n - 1; i++)
    if (!(fabs((double)out->f32[i] - (double)want->f32[i]) < 1e-4))
      return false;
  return out && n > 2 && array_is_filling(out, 0) && array_is_filling(out, n - 1);
}

static void judge(Case *c) {
  const Array *out = got_shaped(c, "out", given(c, "x")->shape);
  const int64_t n = given(c, "x")->count;
  const int64_t written = columns_written(out);
  suspect_that(c, counts(c)->launches == 0 && n >= 256, &NO_KERNEL);
  suspect_finding(c, "bounds", &BEYOND);
  suspect_that(c, ends_left(c, smoothed(c, ITSELF)), &ENDS_LEFT);
  suspect_that(c, n >= 256 && written > 0 && written < n && written % 32 == 0, &ROUNDED_DOWN);
  suspect_array(c, "out", smoothed(c, ZERO), &ZERO_ENDS);
  suspect_array(c, "out", smoothed(c, ROUND_ABOUT), &ROUND);
  for (int64_t piece = 32; piece <= 1024 && piece < n; piece *= 2)
    suspect_array(c, "out", with_ends(c, piece, false), &BLOCK_ENDS);
  suspect_array(c, "out", with_ends(c, n, true), &OF_TWO);
  if (!expect_array(c, "out", smoothed(c, ITSELF), 1e-5) || !expect_by_kernel(c))
    return;
  if (!expect_array(c, "out again", smoothed(c, ITSELF), 1e-5))
    suspect_that(c, true, &FIRST_CALL_ALONE);
  expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "29_1_smooth",
    .title = "Find the bug: smooth a signal",
    .after_pass = "Every access needs its own bounds check: a stencil reads past both ends.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .stars = {{"one launch", {&SEVERAL}}},
    .hints = {"./ferry inspect names the line, and how far past the array the access was.",
              "Three kinds of threads read or write out of bounds: the one of the first element, the one of the last, "
              "and those without an element.",
              "x[i > 0 ? i - 1 : i] never reads before the array."},
    .functions = {"smooth_on_device"},
    .tests = {{.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "whole blocks", .ask = ask_whole, .judge = judge, .inspect = true},
              {.name = "fewer than a warp", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "one element", .ask = ask_one, .judge = judge, .inspect = true},
              {.name = "many elements", .ask = ask_many, .judge = judge, .schedules = 1}},
};
