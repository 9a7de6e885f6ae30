// SPDX-License-Identifier: MIT
// Exercise 24.2, a performance challenge: right for every size, without a finding, and scored by its modeled time. The elements are
// small multiples of a half, so that every order of adding them gives the same sum.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/24_reductions.md"

static const Mistake NOT_FASTER = {"no speedup",
                                   "./ferry inspect --gpu v100 shows what limits the kernel: instructions with few "
                                   "active lanes, barriers, or memory. Start with the largest of the times.",
                                   LESSON "#tree-reduction-in-seven-steps"};
static const Mistake ATOMICS = {"too many atomic operations",
                                "Atomic additions to the same address are executed one after another. Let each block "
                                "sum its elements first, then add that sum with one atomicAdd.",
                                "docs/25_warps.md#atomics"};
static const Mistake NO_BARRIER = {"missing barrier",
                                   "A thread reads a sum that another thread has not written yet. Put a "
                                   "__syncthreads() between the steps, or use shuffles within a warp.",
                                   LESSON "#tree-reduction-in-seven-steps"};
static const Mistake BETWEEN_BLOCKS = {
    "data race between blocks",
    "Two blocks access the same element, and nothing orders the two accesses. Use atomicAdd, or a second launch, or an "
    "atomic counter with __threadfence() on both sides.",
    LESSON "#one-launch-or-two"};
static const Mistake REST = {
    "remainder not added",
    "n is not always a multiple of 4, or of the number of elements per block. Add the remainder as well.",
    LESSON "#tree-reduction-in-seven-steps"};
static const Mistake HARD_CODED = {"hard-coded size",
                                   "Elements past the scored size were not added. Let the loop run up to n.",
                                   LESSON "#7-thread-coarsening"};
static const Mistake LEFT_OUT = {
    "elements left out",
    "The result is less than a quarter of the correct sum. Add all elements, and add up the sums of all blocks.",
    LESSON "#one-launch-or-two"};
static const Mistake ONE_SIZE = {"slow at other sizes",
                                 "Your kernels are too slow at other sizes near the scored one. Let the same loop "
                                 "handle any n, and add the remainder separately.",
                                 LESSON "#tree-reduction-in-seven-steps"};
static const Mistake OVERFLOW = {"scratch buffer overflow",
                                 "A block writes past the end of scratch, which has 1024 elements. With a grid-stride "
                                 "loop, 1024 blocks are enough for any n.",
                                 LESSON "#one-launch-or-two"};

enum { SIDE = 1 << 21 };
static const Scored SCORED = {.gpu = "v100",
                              .size = "2097152 floats",
                              .blocks = 32,
                              .naive = 41.9e-6,
                              .reference = 10.6e-6,
                              .steps = {1.5, 1.9, 2.8, 3.8}};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_steps(c, shape(n), 0, 2.5, 0.5), (Give){.device = "cuda:0"});
  give_array(c, "out", new_array(c, FY_FLOAT32, shape(1)), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 5001, 20001));
}
static void ask_blocks(Case *c) {
  ask(c, 256 * draw_int(c, 9, 20) + draw_int(c, 1, 3));
}
static void ask_few(Case *c) {
  ask(c, draw_int(c, 5, 31));
}
static void ask_one(Case *c) {
  ask(c, 1);
}
static void ask_scored(Case *c) {
  ask(c, SIDE);
}
static void ask_near(Case *c) {
  ask(c, SIDE - draw_odd(c, 1, 99999));
}

// A grid or a loop with the scored size hard-coded does not reach the end.
static void ask_above(Case *c) {
  ask(c, SIDE + draw_odd(c, 4097, SIDE / 8));
}

static double sum_to(const Array *x, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count && i < x->count; i++)
    sum += (double)x->f32[i];
  return sum;
}

static double sum_of_floors(const Array *x) {
  double sum = 0;
  for (int64_t i = 0; i < x->count; i++)
    sum += (double)floorf(x->f32[i]);
  return sum;
}

static bool is_overflow(const Case *c) {
  const Array *scratch = got(c, "room");
  return (scratch && scratch->flags & ARRAY_GUARD_BROKEN) || strstr(got_error(c), "it writes room[");
}

static bool judge_values(Case *c) {
  const Array *x = given(c, "x"), *out = got_shaped(c, "out", shape(1));
  const int64_t n = x->count;
  const double all = sum_to(x, n), got = out ? (double)out->f32[0] : 0;
  Array *want = new_array(c, FY_FLOAT32, shape(1));
  want->f32[0] = (float)all;
  const bool wrong = out && got != all;
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_sure(c, is_overflow(c), &OVERFLOW);
  suspect_faults(c);
  suspect_that(c, wrong && (case_schedule(c) == SCHEDULE_THREADS_DOWN || case_schedule(c) == SCHEDULE_WITHIN_BLOCKS),
               &NO_BARRIER);
  suspect_that(c, wrong && (case_schedule(c) == SCHEDULE_BLOCKS_DOWN || case_schedule(c) == SCHEDULE_BETWEEN_BLOCKS),
               &BETWEEN_BLOCKS);
  suspect_that(c, wrong && got == sum_of_floors(x), &TRUNCATED);
  suspect_finding(c, "race-grid", &BETWEEN_BLOCKS);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  if (n > 8)
    suspect_that(c, wrong && (got == sum_to(x, n / 4 * 4) || got == sum_to(x, n / 256 * 256)), &REST);
  if (n > SIDE)
    suspect_that(c, wrong && (got == sum_to(x, SIDE) || got == sum_to(x, SIDE) + all - sum_to(x, n / 4 * 4)),
                 &HARD_CODED);
  if (n > 4096)
    suspect_that(c, wrong && got > 0 && got < all / 4, &LEFT_OUT);
  return expect_array(c, "out", want, 0) && expect_by_kernel(c);
}

static void judge(Case *c) {
  judge_values(c);
}
static void judge_inspected(Case *c) {
  if (judge_values(c))
    expect_no_finding(c);
}

static void judge_score(Case *c, double share, const Mistake *slow) {
  const double n = (double)given(c, "x")->count;
  if (!judge_values(c))
    return;
  suspect_that(c, inspected(c, GLOBAL_ATOMICS, (Where){.in_all = true}) >= 32 * 128,
               &ATOMICS); // of the 32 instrumented blocks
  expect_score(c, (Least){.loaded = 4 * n, .share = share}, slow);
}
static void judge_scored(Case *c) {
  judge_score(c, 0, &NOT_FASTER);
}
static void judge_near(Case *c) {
  judge_score(c, (double)given(c, "x")->count / SIDE, &ONE_SIZE);
}

EXERCISE = {
    .id = "24_2_fast_sum",
    .title = "Performance challenge: sum",
    .after_pass = "A reduction is memory-bound: a fast kernel spends nearly all of its time reading x.",
    .kind = "kernel",
    .chapter = 24,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#tree-reduction-in-seven-steps",
    .open = true,
    .hints = {"Which lanes are active in each step? Use sequential addressing instead of t % (2 * step), so that the "
              "active threads are contiguous.",
              "In the first step, half of the threads have nothing to add. Let each thread load and sum several "
              "elements before the tree.",
              "The last five steps are within a warp. There, shuffles need neither barriers nor shared memory.",
              "Launch a few hundred blocks, each with a grid-stride loop over float4. The remaining time is then that "
              "of reading x."},
    .functions = {"sum_on_device"},
    // The inspected test is first: an uninitialized read is a finding there, and elsewhere only a wrong sum.
    .tests = {{.name = "several blocks", .ask = ask_blocks, .judge = judge_inspected, .inspect = true},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "less than a warp", .ask = ask_few, .judge = judge},
              {.name = "scored", .ask = ask_scored, .judge = judge_scored, .scored = &SCORED},
              {.name = "other sizes", .ask = ask_near, .judge = judge_near, .scored = &SCORED},
              {.name = "odd", .ask = ask_odd, .judge = judge},
              {.name = "above the scored size", .ask = ask_above, .judge = judge, .schedules = 1}},
};
