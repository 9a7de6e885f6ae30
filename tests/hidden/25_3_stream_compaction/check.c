// SPDX-License-Identifier: MIT
// Exercise 25.3: stream compaction in order. The numbers are few different ones, some of them the bound itself.
#include "exercise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LESSON "docs/25_scan.md"

static const Mistake ORDER = {
    "not in their order",
    "The right elements are there, in another order. Places that are drawn by an atomic operation come in "
    "the order in which threads draw; a scan gives each element its own.",
    LESSON "#compaction"};
static const Mistake EQUAL = {"what equals the bound", "Kept is what is larger than the bound, not what equals it.",
                              LESSON "#compaction"};
static const Mistake NAN_KEPT = {"a NaN kept",
                                 "A NaN is above no bound. x > bound is false for it, and x <= bound as well: what is "
                                 "not below is not above for that.",
                                 LESSON "#compaction"};
static const Mistake HOLES = {
    "left where it was",
    "Each kept element was written to the place that it had in x, with holes in between. Its place is the "
    "number of elements kept before it.",
    LESSON "#compaction"};
static const Mistake OWN_PIECE = {
    "each block from the beginning",
    "Every block wrote to the first places of out, over what others wrote. What stands before a block is "
    "the sum of the counts of the blocks before it.",
    LESSON "#over-blocks"};
static const Mistake ONE_TOO_FAR = {
    "one place too far",
    "The inclusive scan counts the element itself, too: its place is one less. The first element of "
    "out was left unwritten.",
    LESSON "#compaction"};
static const Mistake COUNT = {"the count left out", "*count has to hold how many were kept, for n = 0 as well.",
                              LESSON "#compaction"};
static const Mistake WRITTEN_BEHIND = {"written behind the last one kept", "out is not to be touched from *count on.",
                                       LESSON "#compaction"};
static const Mistake BEYOND = {
    "threads beyond n",
    "In the last block there are more threads than elements: they read x behind its end. They bring a 0.",
    LESSON "#over-blocks"};
static const Mistake NO_BARRIER = {"a barrier is missing",
                                   "Threads of a block read in shared memory what others write at the same time.",
                                   LESSON "#a-scan-within-a-block"};
static const Mistake DIVERGENT = {
    "a barrier that some threads do not reach",
    "Threads beyond n, or threads that keep nothing, returned before a barrier or a shuffle, or skipped "
    "it in a branch. They must reach it, with a 0.",
    LESSON "#a-scan-within-a-block"};
static const Mistake ATOMICS = {
    "places drawn by atomic operations",
    "The order came out right this time; which thread draws first is not for the program to say. A scan "
    "gives each element its place.",
    LESSON "#compaction"};
static const Mistake ALONE = {"one thread does it all",
                              "A warp has 32 lanes, and a GPU has room for thousands of warps; one thread worked.",
                              LESSON "#compaction"};
static const Mistake FIRST_PIECES = {"the later pieces left out",
                                     "*count is that of the first pieces alone, as many as the scan of the counts has "
                                     "places. A thread of it takes several counts where there are more.",
                                     LESSON "#over-blocks"};
static const Mistake EMPTY_GRID = {"a grid of no blocks", "For n = 0 a grid of no blocks is an invalid configuration.",
                                   LESSON "#over-blocks"};
static const Mistake LAUNCHES = {"a launch for every piece", "Three launches do: counts, their scan, and the writing.",
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

// What is kept, and NaN behind it; of what equals the bound too, or with gaps in between.
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

// Are the NaNs of x kept, too, each in its place?
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

// Is want there, but for one place further on?
static bool shifted(const Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  if (!out || count < 2 || count >= out->count || !array_is_filling(out, 0))
    return false;
  for (int64_t i = 0; i < count; i++)
    if (out->f32[i + 1] != want->f32[i])
      return false;
  return true;
}

// As many elements in a piece are there as some block can have kept, and none behind them.
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

// Is *count that of the first elements alone, as many as blocks of some size have together?
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

// All that is kept is there, and something behind it was written.
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

// The kept elements in order, and nothing but NaN behind them: what nobody wrote is no mistake here, as it would be to expect_array.
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
                                   : "out[%lld], behind the kept ones: expected %g (as it was), got %g",
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
  expect_global_atomics(c, 0, &ATOMICS);
}

static void judge_lanes(Case *c) {
  judge(c);
  expect_threads(c, 128, &ALONE);
  expect_inspected(c, ACTIVE_LANES, (Where){.in_all = true}, 0.2, &ALONE);
}

EXERCISE = {
    .id = "25_3_stream_compaction",
    .title = "Stream compaction",
    .after_pass = "A scan of flags says where each kept element goes, in order and without atomic operations.",
    .kind = "kernel",
    .chapter = 25,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#compaction",
    .hints =
        {"__syncthreads_count(flag) is a barrier, and gives every thread of the block how many brought a flag.",
         "room[b] gets the count of block b; one block makes of it what stands before each, and writes *count.",
         "An element's place: what stands before its block, plus the inclusive scan of the block's flags, less 1.",
         "Threads beyond n bring the flag 0. For n = 0 only the second of the three launches is left, and writes 0."},
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
