// SPDX-License-Identifier: MIT
// Exercise 24.3, a performance challenge: correct for every size, without findings, and scored by its modelled time. The elements are small multiples of a half,
// so that every order of adding gives the same.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/24_reductions.md"

static const Mistake NOT_FASTER = {"not faster than the original",
                                   "./ferry inspect --gpu v100 shows what limits the kernel: instructions with few "
                                   "active lanes, barriers, memory. Start with the largest cost.",
                                   "docs/24_reductions.md#seven-steps"};
static const Mistake ATOMICS = {
    "one atomic operation per element",
    "Additions to one address are serialized. Let each block add up its elements first, and add to out once.",
    "docs/24_reductions.md#atomics"};
static const Mistake UNORDERED = {"missing barrier between the steps",
                                  "A thread reads a value that another one has not written yet. Put a __syncthreads() "
                                  "between the steps; within a warp use shuffles or __syncwarp().",
                                  "docs/24_reductions.md#seven-steps"};
static const Mistake LOST = {"race between blocks",
                             "Two blocks read, add and write the same value, so one sum is lost. Use an atomic "
                             "operation, and a __threadfence() between storing a partial sum and counting it.",
                             "docs/24_reductions.md#one-launch-or-two"};
static const Mistake REST = {"last elements left out",
                             "n is rarely a multiple of 4 or of the elements that a block adds.",
                             "docs/24_reductions.md#seven-steps"};
static const Mistake SCORED_ALONE = {
    "works for the scored size only",
    "The elements after the scored number were not added. Let the loop run to n, whatever n is.",
    "docs/24_reductions.md#7-many-elements-for-each-thread"};
static const Mistake ONE_BLOCK = {"sum of one block only", "Add the partial sums of all blocks.",
                                  "docs/24_reductions.md#one-launch-or-two"};
static const Mistake ONE_SIZE = {
    "slow at sizes near the scored one",
    "Other sizes must be fast as well: let the main loop handle any n, and treat the remainder separately.",
    "docs/24_reductions.md#seven-steps"};

enum { SIDE = 1 << 21 };
static const Scored SCORED = {.gpu = "v100",
                              .size = "2097152 floats",
                              .blocks = 32,
                              .naive = 44.3e-6,
                              .reference = 10.6e-6,
                              .steps = {1.5, 1.8, 2.8, 3.9}};

static void ask(Case *c, int64_t n) {
  give_array(c, "x", draw_steps(c, shape(n), 0, 2.5, 0.5), (Give){.device = "cuda:0"});
  give_array(c, "out", new_array(c, FY_FLOAT32, shape(1)), (Give){.device = "cuda:0"});
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 5001, 20001));
}
static void ask_looked_at(Case *c) {
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
static void ask_beside(Case *c) {
  ask(c, SIDE - draw_odd(c, 1, 99999));
}

// Nearly the maximum: a grid made for the scored size has too few threads, or too few iterations per thread.
static void ask_above(Case *c) {
  ask(c, 2 * SIDE - draw_odd(c, 1, 4095));
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

static bool judge_values(Case *c) {
  const Array *x = given(c, "x"), *out = got_shaped(c, "out", shape(1));
  const int64_t n = x->count;
  const double all = sum_to(x, n), got = out ? (double)out->f32[0] : 0;
  Array *want = new_array(c, FY_FLOAT32, shape(1));
  want->f32[0] = (float)all;
  const bool wrong = out && got != all;
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_faults(c);
  suspect_that(c, wrong && (case_schedule(c) == SCHEDULE_THREADS_DOWN || case_schedule(c) == SCHEDULE_WITHIN_BLOCKS),
               &UNORDERED);
  suspect_that(c, wrong && (case_schedule(c) == SCHEDULE_BLOCKS_DOWN || case_schedule(c) == SCHEDULE_BETWEEN_BLOCKS),
               &LOST);
  suspect_that(c, wrong && got == sum_of_floors(x), &ADDED_WHOLE);
  suspect_finding(c, "race-grid", &LOST);
  suspect_finding(c, "race", &UNORDERED);
  if (n > 8)
    suspect_that(c, wrong && (got == sum_to(x, n / 4 * 4) || got == sum_to(x, n / 256 * 256)), &REST);
  if (n > SIDE)
    suspect_that(c, wrong && (got == sum_to(x, SIDE) || got == sum_to(x, SIDE) + all - sum_to(x, n / 4 * 4)),
                 &SCORED_ALONE);
  if (n > 4096)
    suspect_that(c, wrong && got > 0 && got < all / 4, &ONE_BLOCK);
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
               &ATOMICS); // of the instrumented blocks
  expect_score(c, (Least){.loaded = 4 * n, .share = share}, slow);
}
static void judge_scored(Case *c) {
  judge_score(c, 0, &NOT_FASTER);
}
static void judge_beside(Case *c) {
  judge_score(c, (double)given(c, "x")->count / SIDE, &ONE_SIZE);
}

EXERCISE = {
    .id = "24_3_fast_sum",
    .title = "Performance challenge: sum",
    .after_pass = "Thread coarsening, shuffles and one atomic per block make a reduction memory-bound: it takes the "
                  "time of reading x.",
    .kind = "kernel",
    .chapter = 24,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON "#seven-steps",
    .open = true,
    .hints = {"Which lanes take part in the addition? Let the active threads be neighbors.",
              "In the first step half of the threads only load. Let each thread load and add several elements.",
              "The last five steps belong to one warp: shuffles need no barrier and no shared memory.",
              "Launch a grid that fills the GPU once, with a grid-stride loop: then reading x is all that is left."},
    .functions = {"sum_on_device"},
    // The instrumented test comes first: an uninitialized read is a finding there, and elsewhere only a wrong number.
    .tests = {{.name = "instrumented", .ask = ask_looked_at, .judge = judge_inspected, .inspect = true},
              {.name = "scored", .ask = ask_scored, .judge = judge_scored, .scored = &SCORED},
              {.name = "sizes near it", .ask = ask_beside, .judge = judge_beside, .scored = &SCORED},
              {.name = "odd", .ask = ask_odd, .judge = judge},
              {.name = "above it", .ask = ask_above, .judge = judge, .schedules = 1},
              {.name = "fewer than a warp", .ask = ask_few, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge}},
};
