// SPDX-License-Identifier: MIT
// Exercise 32.1, find the bug: the bounds check is missing, and at both ends a neighbor is.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/32_debugging_kernels.md#out-of-bounds-access"

static const Mistake OUTSIDE = {
    "out-of-bounds access",
    "x[i - 1] does not exist for the first element, and x[i + 1] does not exist for the last one. Threads with i >= n "
    "have no element at all. Compare each index with 0 and n before the access.",
    LESSON};
static const Mistake ZERO_ENDS = {"zero instead of replicate padding",
                                  "At the ends, use the element itself for the missing neighbor, not 0.", LESSON};
static const Mistake ENDS_LEFT = {"ends not computed",
                                  "The first and the last element need a result as well. Check the indices of their "
                                  "neighbors instead of skipping these elements.",
                                  LESSON};
static const Mistake CIRCULAR = {
    "circular instead of replicate padding",
    "At the ends, use the element itself for the missing neighbor, not the element at the other end.", LESSON};
static const Mistake TOO_SMALL = {"grid too small",
                                  "The last elements have no thread. Round n / 256 up. If you limit the number of "
                                  "blocks, let each thread loop over its elements.",
                                  "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake BLOCK_ENDS = {
    "block boundaries treated as ends",
    "A block's first and last elements have neighbors that belong to other blocks. Read these neighbors from x.",
    LESSON};
static const Mistake OF_TWO = {
    "mean of two at the ends",
    "At the ends, use the element itself for the missing neighbor: add three values, and divide by 3.", LESSON};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(n), 1, 9), (Give){.device = "cuda:0"});
  give_number(c, "n", (double)n);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 1001, 1999));
}
// More than 1024 blocks of 256 threads.
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

typedef enum Ends { ITSELF, ZERO, WRAPPED } Ends;

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

// The ends of chunks treated as those of x; or the mean of two at the ends of x.
static Array *with_ends(Case *c, int64_t chunk, bool of_two) {
  const Array *x = given(c, "x");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    const bool first = i % chunk == 0, last = i % chunk == chunk - 1 || i == x->count - 1;
    const double own = x->f32[i], before = first ? of_two ? 0 : own : (double)x->f32[i - 1];
    const double after = last ? of_two ? 0 : own : (double)x->f32[i + 1];
    out->f32[i] = (float)((before + own + after) / (of_two ? 3 - first - last : 3));
  }
  return out;
}

// All but the first and the last are right, and these are unwritten.
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
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_that(c, ends_left(c, smoothed(c, ITSELF)), &ENDS_LEFT);
  suspect_that(c, n >= 256 && written > 0 && written < n && written % 32 == 0, &TOO_SMALL);
  suspect_array(c, "out", smoothed(c, ZERO), &ZERO_ENDS);
  suspect_array(c, "out", smoothed(c, WRAPPED), &CIRCULAR);
  for (int64_t chunk = 32; chunk <= 1024 && chunk < n; chunk *= 2)
    suspect_array(c, "out", with_ends(c, chunk, false), &BLOCK_ENDS);
  suspect_array(c, "out", with_ends(c, n, true), &OF_TWO);
  if (!expect_array(c, "out", smoothed(c, ITSELF), 1e-5) || !expect_by_kernel(c))
    return;
  if (!expect_array(c, "out again", smoothed(c, ITSELF), 1e-5))
    suspect_that(c, true, &FIRST_CALL_ALONE);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "32_1_smooth",
    .title = "Find the bug: smooth a signal",
    .after_pass = "A stencil kernel needs a bounds check for each neighbor, not only for the thread's own element.",
    .kind = "kernel",
    .chapter = 32,
    .level = LEVEL_EASY,
    .minutes = 10,
    .essential = true,
    .bug = true,
    .lesson = LESSON,
    .hints =
        {"Which elements does the thread with i = 0 read? Which elements does the last thread of the last block read?",
         "./ferry inspect work/32_1_smooth.cu shows the line, and how far the access is outside the array.",
         "Three bounds checks are missing: before the first element, after the last one, and for threads without an "
         "element. x[i > 0 ? i - 1 : i] never reads before the first element."},
    .functions = {"smooth_on_device"},
    .tests = {{.name = "whole blocks", .ask = ask_whole, .judge = judge, .inspect = true},
              {.name = "one element", .ask = ask_one, .judge = judge, .inspect = true},
              {.name = "less than a warp", .ask = ask_few, .judge = judge, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "many elements", .ask = ask_many, .judge = judge, .schedules = 1}},
};
