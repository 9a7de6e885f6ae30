// SPDX-License-Identifier: MIT
// Exercise 25.3: stream compaction in order. There are few different numbers, and some equal the bound.
#include "exercise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LESSON "docs/25_scan.md"

static const Mistake ORDER = {"order not preserved",
                              "The right elements are there in another order: positions claimed with atomicAdd follow "
                              "the order of the threads. A scan gives each element its own position.",
                              LESSON "#compaction"};
static const Mistake EQUAL = {"elements equal to the bound kept",
                              "Keep what is greater than the bound, not what equals it.", LESSON "#compaction"};
static const Mistake NAN_KEPT = {
    "NaN kept", "Both x > bound and x <= bound are false for a NaN. Keep an element if x > bound is true.",
    LESSON "#compaction"};
static const Mistake HOLES = {
    "elements not moved together",
    "The elements kept their old index, with holes in between. The new index is the number of elements kept before.",
    LESSON "#compaction"};
static const Mistake OWN_PIECE = {
    "block offsets missing",
    "Every block wrote to the beginning of out. Add the sum of the counts of all earlier blocks.",
    LESSON "#over-blocks"};
static const Mistake ONE_TOO_FAR = {"inclusive scan used as index",
                                    "An inclusive scan counts the element itself: its index is one less.",
                                    LESSON "#compaction"};
static const Mistake COUNT = {"count not written", "*count must hold the number of elements kept, for n = 0 as well.",
                              LESSON "#compaction"};
static const Mistake WRITTEN_BEHIND = {"written after the last kept element", "Leave out unchanged from *count on.",
                                       LESSON "#compaction"};
static const Mistake BEYOND = {
    "missing bounds check",
    "The last block has more threads than elements. Threads past the end must not read x; they bring a 0.",
    LESSON "#over-blocks"};
static const Mistake NO_BARRIER = {
    "missing barrier", "Threads of a block read in shared memory what other threads write at the same time.",
    LESSON "#a-scan-within-a-block"};
static const Mistake DIVERGENT = {"divergent barrier",
                                  "Threads past the end, or threads that keep nothing, skipped a barrier or a shuffle. "
                                  "All threads must reach it, with a 0.",
                                  LESSON "#a-scan-within-a-block"};

static const Mistake ALONE = {"serial kernel",
                              "One thread does the work of a kernel, and the other lanes of its warp are idle.",
                              LESSON "#compaction"};
static const Mistake FIRST_PIECES = {"more blocks than threads",
                                     "*count is that of the first blocks only: there may be more counts than one block "
                                     "has threads. Scan them in rounds.",
                                     LESSON "#over-blocks"};
static const Mistake EMPTY_GRID = {"empty grid", "For n = 0 a grid of 0 blocks is an invalid configuration.",
                                   LESSON "#over-blocks"};
static const Mistake LAUNCHES = {"too many launches", "Three launches are enough: count, scan the counts, write.",
                                 "docs/25_scan.md#compaction"};

static void ask(Case *c, int64_t n, double bound) {
  Array *x = draw_steps(c, shape(n), -9, 9, 0.25);
  if (n > 9)
    x->f32[draw_int(c, 1, n - 2)] = NAN; // above no bound
  if (n > 0)
    x->f32[n - 1] = 9; // kept by most bounds: a last block that is left out shows
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "bound", bound);
  give_number(c, "n", (double)n);
}
static void ask_whole(Case *c) {
  ask(c, 2048, -0.0); // 0 is not above it
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 4097, 5999), (double)draw_int(c, -3, 3) + 0.25 * (double)draw_int(c, 1, 3));
}
static void ask_few(Case *c) {
  ask(c, draw_odd(c, 2049, 2999), 7.75);
}
static void ask_nothing(Case *c) {
  ask(c, draw_odd(c, 513, 999), 9);
}
static void ask_small(Case *c) {
  ask(c, draw_odd(c, 13, 29), -3);
}
static void ask_large(Case *c) {
  ask(c, 1024 * draw_int(c, 79, 96) + 1, 2); // one element more than whole blocks have
}
static void ask_one(Case *c) {
  ask(c, 1, 2);
}
static void ask_none(Case *c) {
  ask(c, 0, 0);
}

// The elements kept, followed by NaN; with those that equal the bound, or with holes in between.
static Array *kept(Case *c, bool equal, bool holes, int64_t *count) {
  const Array *x = given(c, "x");
  float bound = (float)given_number(c, "bound");
  Array *out = new_array(c, FY_FLOAT32, x->shape);
  *count = 0;
  for (int64_t i = 0; i < x->count; i++)
    out->f32[i] = NAN;
  for (int64_t i = 0; i < x->count; i++)
    if (x->f32[i] > bound || (equal && x->f32[i] == bound)) {
      out->f32[holes ? i : *count] = x->f32[i];
      ++*count;
    }
  return out;
}

// Is out this, NaN where it was not written?
static bool came_back(const Case *c, const Array *a) {
  const Array *out = got_shaped(c, "out", a->shape);
  for (int64_t i = 0; out && i < a->count; i++)
    if (out->f32[i] != a->f32[i] && !(array_is_filling(out, i) && isnan(a->f32[i])))
      return false;
  return out != NULL;
}

// Are the NaNs of x kept as well, each at its index?
static bool nan_kept(Case *c) {
  const Array *x = given(c, "x"), *out = got_shaped(c, "out", x->shape), *count = got(c, "count");
  const float bound = (float)given_number(c, "bound");
  int64_t places = 0, nans = 0;
  for (int64_t i = 0; out && i < x->count; i++) {
    if (x->f32[i] <= bound)
      continue;
    const float a = out->f32[places];
    if (isnan(x->f32[i]) ? !isnan(a) || array_is_filling(out, places) : a != x->f32[i])
      return false;
    places++;
    nans += isnan(x->f32[i]);
  }
  return nans > 0 && count && count->count == 1 && count->i32[0] == places;
}

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

// The first `count` of out are those of want, in another order?
static bool reordered(Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  Array *a = new_array(c, FY_FLOAT32, want->shape), *b = new_array(c, FY_FLOAT32, want->shape);
  bool differ = false;
  if (!out)
    return false;
  for (int64_t i = 0; i < count; i++) {
    if (isnan(out->f32[i]))
      return false;
    differ |= out->f32[i] != want->f32[i];
    a->f32[i] = out->f32[i];
    b->f32[i] = want->f32[i];
  }
  qsort(a->f32, (size_t)count, sizeof(float), by_value);
  qsort(b->f32, (size_t)count, sizeof(float), by_value);
  for (int64_t i = 0; i < count; i++)
    if (a->f32[i] != b->f32[i])
      return false;
  return differ;
}

// Is want there, but one index further on?
static bool shifted(const Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  if (!out || count < 2 || count >= out->count || !array_is_filling(out, 0))
    return false;
  for (int64_t i = 0; i < count; i++)
    if (out->f32[i + 1] != want->f32[i])
      return false;
  return true;
}

// As many elements are there as one block can have kept, and none after them.
static bool one_piece(const Case *c, int64_t count) {
  const Array *out = got(c, "out");
  int64_t there = 0;
  while (out && there < out->count && !isnan(out->f32[there]))
    there++;
  for (int64_t i = there; out && i < out->count; i++)
    if (memcmp(&out->f32[i], "\xff\xff\xff\xff", sizeof(float)) != 0)
      return false; // a NaN that was written
  return out && there > 0 && there < count && there <= 1024;
}

// Is *count that of the first elements only, as many as one round of the counts covers?
static bool first_pieces(const Case *c, int64_t count) {
  const Array *x = given(c, "x"), *got_count = got(c, "count");
  const float bound = (float)given_number(c, "bound");
  int64_t so_far = 0;
  for (int64_t i = 0; got_count && i < x->count; i++) {
    if (i >= 1024 && (i & (i - 1)) == 0 && so_far < count && got_count->i32[0] == so_far)
      return true;
    so_far += x->f32[i] > bound;
  }
  return false;
}

static bool touched_behind(const Case *c, int64_t count) {
  const Array *out = got(c, "out");
  for (int64_t i = count; out && i < out->count; i++)
    if (!isnan(out->f32[i]))
      return true;
  return false;
}

// All kept elements are there, and something after them was written.
static bool right_but_behind(const Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  for (int64_t i = 0; out && i < count; i++)
    if (out->f32[i] != want->f32[i])
      return false;
  return touched_behind(c, count);
}

static void suspect_mistakes(Case *c, const Array *want, int64_t count) {
  const Array *got_count = got(c, "count");
  int64_t equal, holes;
  const Array *with_equal = kept(c, true, false, &equal), *with_holes = kept(c, false, true, &holes);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && want->count > 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "bounds", &BEYOND);
  suspect_that(c, got_count && got_count->i32[0] == -1, &COUNT);
  if (equal > count)
    suspect_that(c, came_back(c, with_equal), &EQUAL);
  suspect_that(c, nan_kept(c), &NAN_KEPT);
  if (count < want->count)
    suspect_that(c, count > 0 && came_back(c, with_holes), &HOLES);
  suspect_that(c, shifted(c, want, count), &ONE_TOO_FAR);
  suspect_that(c, reordered(c, want, count), &ORDER);
  suspect_that(c, one_piece(c, count), &OWN_PIECE);
  suspect_that(c, want->count > 65536 && first_pieces(c, count), &FIRST_PIECES);
  suspect_that(c, case_schedule(c) == SCHEDULE_IN_ORDER && right_but_behind(c, want, count), &WRITTEN_BEHIND);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
}

// The kept elements in order, followed by NaN only: unwritten elements are right here, which expect_array would refuse.
static bool expect_kept(Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  if (!expect_that(c, out != NULL, NULL, "out did not come back") ||
      !expect_that(c, !(out->flags & ARRAY_GUARD_BROKEN), &PAST_THE_END, "memory around out was written"))
    return false;
  for (int64_t i = 0; i < out->count; i++) {
    float a = out->f32[i], b = want->f32[i];
    if (a != b && !(isnan(a) && isnan(b)))
      return expect_that(c, false, NULL,
                         i < count ? "out[%lld]: expected %g, got %g"
                                   : "out[%lld], after the kept elements: expected %g (as it was), got %g",
                         (long long)i, (double)b, (double)a);
  }
  return true;
}

static void judge(Case *c) {
  int64_t count;
  const Array *want = kept(c, false, false, &count);
  Array *want_count = new_array(c, FY_INT32, shape(1));
  want_count->i32[0] = (int32_t)count;
  suspect_mistakes(c, want, count);
  if (!expect_array(c, "count", want_count, 0) || !expect_kept(c, want, count))
    return;
  if (want->count > 0 && !expect_by_kernel(c))
    return;
  expect_at_most(c, "launches", counts(c)->launches, 4, &LAUNCHES);
  expect_no_finding(c);
}

static void judge_lanes(Case *c) {
  judge(c);
  expect_parallel(c, 0.2, &ALONE);
}

EXERCISE = {
    .id = "25_3_stream_compaction",
    .title = "Stream compaction",
    .after_pass =
        "Stream compaction is a scan of flags followed by a scatter: it is stable and needs no atomic operations.",
    .kind = "kernel",
    .chapter = 25,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#compaction",
    .stars = {{"at most 4 launches", {&LAUNCHES}}, {"no serial kernel: at least 20 % active lanes in each", {&ALONE}}},
    .hints =
        {"The new index of an element is the number of elements kept before it: a scan of flags, 1 for what is kept.",
         "__syncthreads_count(flag) is a barrier, and returns to every thread how many threads of the block have the "
         "flag set.",
         "scratch[b] gets the count of block b. One block replaces the counts by their exclusive prefix sums and "
         "writes *count.",
         "Index = offset of the block + inclusive scan of the flags of the block - 1. Threads past the end have the "
         "flag 0. For n = 0 only the second of the three launches remains."},
    .functions = {"keep_on_device"},
    .tests = {{.name = "whole blocks", .ask = ask_whole, .judge = judge_lanes, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "few of many", .ask = ask_few, .judge = judge},
              {.name = "nothing kept", .ask = ask_nothing, .judge = judge},
              {.name = "less than a warp", .ask = ask_small, .judge = judge, .inspect = true},
              {.name = "large and odd", .ask = ask_large, .judge = judge, .schedules = 2},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "no elements", .ask = ask_none, .judge = judge}},
};
