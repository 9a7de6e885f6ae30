// SPDX-License-Identifier: MIT
// Exercise 26.3: stream compaction in order. There are few different values, and some equal the bound.
#include "exercise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LESSON "docs/26_scan.md"

static const Mistake ORDER = {"order not preserved",
                              "out has the correct elements, but in a different order. An atomic counter numbers them "
                              "in the order in which the threads run. Compute each position with a scan.",
                              LESSON "#stream-compaction"};
static const Mistake COMPARISON = {
    "wrong comparison",
    "Keep x[i] only if x[i] > bound. An element that equals the bound is not kept. -0 and 0 are equal.",
    LESSON "#stream-compaction"};
static const Mistake NAN_KEPT = {"NaN kept",
                                 "x > bound is false for a NaN, and so is x <= bound. Write x > bound, not "
                                 "!(x <= bound).",
                                 LESSON "#stream-compaction"};
static const Mistake HOLES = {"elements not compacted",
                              "Each kept element has the same index in out as in x. Its index in out must be the "
                              "number of elements kept before it.",
                              LESSON "#stream-compaction"};
static const Mistake OFFSETS = {
    "chunk offsets missing",
    "Every block writes to the beginning of out. Add the number of elements that all earlier blocks keep.",
    LESSON "#scan-over-several-blocks"};
static const Mistake INCLUSIVE = {"inclusive instead of exclusive scan",
                                  "out[0] is not written, and all elements are one position too far. An inclusive scan "
                                  "counts the element itself, so subtract 1.",
                                  LESSON "#stream-compaction"};
static const Mistake COUNT = {"count not written", "Write the number of kept elements to *count, even for n = 0.",
                              LESSON "#stream-compaction"};
static const Mistake PAST_COUNT = {
    "elements written past the count",
    "A thread wrote to `out` at index *count or beyond. Only a thread whose element is kept may write.",
    LESSON "#stream-compaction"};
static const Mistake OUTSIDE = {"out-of-bounds access",
                                "The last block may have more threads than elements. Compare i with n before you read "
                                "x[i], and let threads past the end use the flag 0.",
                                LESSON "#scan-over-several-blocks"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "Threads of a block read shared memory that other threads write. Put a "
                                   "__syncthreads() between the writes and the reads.",
                                   LESSON "#scan-within-a-block"};
static const Mistake DIVERGENT = {
    "divergent barrier",
    "Some threads returned before a barrier or a shuffle, or skipped it in a branch. All threads must reach it, "
    "including those past the end and those without a kept element.",
    LESSON "#scan-within-a-block"};
static const Mistake SERIAL = {"serial kernel",
                               "One lane of a warp does most of the work while the others are idle. Let neighboring "
                               "threads process neighboring elements.",
                               LESSON "#stream-compaction"};
static const Mistake SINGLE_BLOCK = {
    "single block",
    "A single block runs on one multiprocessor, and all others are idle. Distribute the elements over many blocks.",
    LESSON "#stream-compaction"};
static const Mistake MANY_CHUNKS = {"more chunks than threads",
                                    "*count includes only the first chunks. There may be more chunks than threads in "
                                    "the block that scans their counts. Let it loop over the counts.",
                                    LESSON "#scan-over-several-blocks"};
static const Mistake EMPTY_GRID = {"empty grid",
                                   "For n = 0, a grid with one thread per element has 0 blocks, which is an invalid "
                                   "configuration. Skip such launches, but write *count.",
                                   LESSON "#scan-over-several-blocks"};
static const Mistake LAUNCHES = {"too many launches",
                                 "Three launches are enough: count per block, scan the counts, write the elements.",
                                 LESSON "#stream-compaction"};

static void ask(Case *c, int64_t n, double bound) {
  Array *x = draw_steps(c, shape(n), -9, 9, 0.25);
  if (n > 9)
    x->f32[draw_int(c, 1, n - 2)] = NAN; // never kept
  if (n > 0)
    x->f32[n - 1] = 9; // kept by most bounds, so that a missing last block shows
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

// The kept elements, then NaN; with those that equal the bound, or with holes between them.
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

// Is out equal to a, and unwritten where a is NaN?
static bool came_back(const Case *c, const Array *a) {
  const Array *out = got_shaped(c, "out", a->shape);
  for (int64_t i = 0; out && i < a->count; i++)
    if (out->f32[i] != a->f32[i] && !(array_is_filling(out, i) && isnan(a->f32[i])))
      return false;
  return out != NULL;
}

// Are the NaNs of x kept, each at its position?
static bool nan_kept(Case *c) {
  const Array *x = given(c, "x"), *out = got_shaped(c, "out", x->shape), *count = got(c, "count");
  const float bound = (float)given_number(c, "bound");
  int64_t kept_count = 0, nans = 0;
  for (int64_t i = 0; out && i < x->count; i++) {
    if (x->f32[i] <= bound)
      continue;
    const float a = out->f32[kept_count];
    if (isnan(x->f32[i]) ? !isnan(a) || array_is_filling(out, kept_count) : a != x->f32[i])
      return false;
    kept_count++;
    nans += isnan(x->f32[i]);
  }
  return nans > 0 && count && count->count == 1 && count->i32[0] == kept_count;
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

// Is want in out, one index further on?
static bool shifted(const Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  if (!out || count < 2 || count >= out->count || !array_is_filling(out, 0))
    return false;
  for (int64_t i = 0; i < count; i++)
    if (out->f32[i + 1] != want->f32[i])
      return false;
  return true;
}

// The beginning of out has as many elements as a block can keep, and the rest is unwritten.
static bool one_chunk(const Case *c, int64_t count) {
  const Array *out = got(c, "out");
  int64_t there = 0;
  while (out && there < out->count && !isnan(out->f32[there]))
    there++;
  for (int64_t i = there; out && i < out->count; i++)
    if (memcmp(&out->f32[i], "\xff\xff\xff\xff", sizeof(float)) != 0)
      return false; // a NaN that was written
  return out && there > 0 && there < count && there <= 1024;
}

// Is *count that of the first 1024, 2048, ... elements?
static bool first_chunks(const Case *c, int64_t count) {
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

static bool written_past(const Case *c, int64_t count) {
  const Array *out = got(c, "out");
  for (int64_t i = count; out && i < out->count; i++)
    if (!isnan(out->f32[i]))
      return true;
  return false;
}

// The kept elements are right, and something after them was written.
static bool right_up_to_count(const Case *c, const Array *want, int64_t count) {
  const Array *out = got_shaped(c, "out", want->shape);
  for (int64_t i = 0; out && i < count; i++)
    if (out->f32[i] != want->f32[i])
      return false;
  return written_past(c, count);
}

static void suspect_mistakes(Case *c, const Array *want, int64_t count) {
  const Array *got_count = got(c, "count");
  int64_t equal, holes;
  const Array *with_equal = kept(c, true, false, &equal), *with_holes = kept(c, false, true, &holes);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && want->count > 0, &NO_KERNEL);
  suspect_finding(c, "divergent", &DIVERGENT);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_that(c, got_count && got_count->i32[0] == -1 && !*got_error(c), &COUNT);
  if (equal > count)
    suspect_that(c, came_back(c, with_equal), &COMPARISON);
  suspect_that(c, nan_kept(c), &NAN_KEPT);
  if (count < want->count)
    suspect_that(c, count > 0 && came_back(c, with_holes), &HOLES);
  suspect_that(c, shifted(c, want, count), &INCLUSIVE);
  suspect_that(c, reordered(c, want, count), &ORDER);
  suspect_that(c, got_count && got_count->i32[0] == count && one_chunk(c, count), &OFFSETS);
  suspect_that(c, want->count > 65536 && first_chunks(c, count), &MANY_CHUNKS);
  suspect_that(c, case_schedule(c) == SCHEDULE_IN_ORDER && right_up_to_count(c, want, count), &PAST_COUNT);
  const bool races = has_finding(c, "race-block") || has_finding(c, "race-warp");
  suspect_that(c, races && !has_finding(c, "bounds"), &NO_BARRIER);
}

// The kept elements in order, then unwritten ones, which expect_array would refuse.
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
                                   : "out[%lld], after the kept elements: expected %g (unwritten), got %g",
                         (long long)i, (double)b, (double)a);
  }
  return true;
}

static bool judge_kept(Case *c) {
  int64_t count;
  const Array *want = kept(c, false, false, &count);
  Array *want_count = new_array(c, FY_INT32, shape(1));
  want_count->i32[0] = (int32_t)count;
  suspect_mistakes(c, want, count);
  if (!expect_array(c, "count", want_count, 0) || !expect_kept(c, want, count))
    return false;
  if (want->count > 0 && !expect_by_kernel(c))
    return false;
  return expect_at_most(c, "launches", counts(c)->launches, 8, &LAUNCHES) && expect_no_finding(c);
}

static void judge(Case *c) {
  judge_kept(c);
}

static void judge_lanes(Case *c) {
  if (judge_kept(c))
    expect_inspected(c, ACTIVE_LANES, (Where){.in_all = true}, 0.2, &SERIAL);
}

static void judge_blocks(Case *c) {
  int64_t most = 0;
  if (!judge_kept(c))
    return;
  for (int i = 0; launch_shape(c, i); i++) {
    const int64_t *s = launch_shape(c, i);
    most = s[0] * s[1] * s[2] > most ? s[0] * s[1] * s[2] : most;
  }
  expect_that(c, most != 1, &SINGLE_BLOCK, "no launch has more than one block, for %lld elements",
              (long long)given(c, "x")->count);
}

EXERCISE = {
    .id = "26_3_stream_compaction",
    .title = "Stream compaction",
    .after_pass = "Stream compaction: an exclusive scan of flags gives each kept element its index in out.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#stream-compaction",
    .stars = {{"parallel: several blocks, and at least 20 % active lanes overall", {&SERIAL, &SINGLE_BLOCK}}},
    .hints = {"The index of a kept element in out is the number of elements kept before it: an exclusive scan of "
              "flags, which are 1 for kept elements. Use three launches, as for the scan of a long array.",
              "First launch: each block counts its flags and stores the count in scratch[blockIdx.x]. "
              "__syncthreads_count(flag) is a barrier that returns to every thread of the block the number of threads "
              "whose flag is not 0.",
              "Second launch, one block: replace each count with the sum of all earlier counts, and write the total to "
              "*count. For n = 0, only this launch is needed.",
              "Third launch: the index is scratch[blockIdx.x] plus the inclusive scan of the block's flags, minus 1. "
              "Let threads past the end use the flag 0."},
    .functions = {"keep_on_device"},
    .tests = {{.name = "whole blocks", .ask = ask_whole, .judge = judge_lanes, .inspect = true},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "less than a warp", .ask = ask_small, .judge = judge, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "few are kept", .ask = ask_few, .judge = judge},
              {.name = "nothing is kept", .ask = ask_nothing, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge_blocks, .schedules = 2},
              {.name = "no elements", .ask = ask_none, .judge = judge}},
};
