// SPDX-License-Identifier: MIT
// Exercise 27.3: a matrix product with double buffering, judged by its values and by the order of its loads and fetches. The elements are
// small multiples of a quarter: every order of adding is exact.
#include "exercise.h"
#include <math.h>

#define BUFFERS "docs/27_the_matrix_product.md#double-buffering"

static const Mistake NO_PREFETCH = {"missing prefetch",
                                    "While a step's elements are loaded, the block has nothing to compute. Load the "
                                    "next step's elements first, then compute with the current tiles.",
                                    BUFFERS};
static const Mistake BARRIERS = {"two barriers per step",
                                 "If you use two pairs of tiles alternately, one barrier per step is enough: the pair "
                                 "that you overwrite was read one step earlier.",
                                 BUFFERS};
static const Mistake TILE_RACE = {
    "data race on the tiles",
    "A thread reads a tile before it is complete, or overwrites it while other threads still read it. One barrier per "
    "step is enough only if you use two pairs of tiles alternately.",
    BUFFERS};
static const Mistake LAST_STEP = {
    "last step left out",
    "The tiles that are loaded last are never multiplied. Compute with each pair of tiles that you load.", BUFFERS};
static const Mistake FIRST_STEP = {
    "first step left out",
    "The first pair of tiles is loaded before the loop but never multiplied. Compute with it in the first step.",
    BUFFERS};
static const Mistake BEYOND = {"prefetch past the end", "No step follows the last one, so load nothing in it.",
                               BUFFERS};
static const Mistake NOT_COUNTED = {"reads that bypass load and fetch",
                                    "Read a and b with load, and the tiles with fetch. The grader records the order of "
                                    "these calls.",
                                    BUFFERS};

// Past the end of each operand there are elements that are not zero.
static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", draw_steps(c, shape((m + 16) * k + 32), 1, 5, 0.25), (Give){.device = "cuda:0"});
  give_array(c, "b", draw_steps(c, shape((k + 32) * n), 1, 5, 0.25), (Give){.device = "cuda:0"});
  give_number(c, "m", (double)m);
  give_number(c, "n", (double)n);
  give_number(c, "k", (double)k);
}
static void ask_small(Case *c) {
  ask(c, 16, 32, 16 * draw_int(c, 5, 7));
}
static void ask_two(Case *c) {
  ask(c, 32, 16, 32);
}
static void ask_one(Case *c) {
  ask(c, 48, 32, 16);
}
static void ask_wide(Case *c) {
  ask(c, 48, 16 * draw_int(c, 4, 8), 16 * draw_int(c, 6, 9));
}
static void ask_tall(Case *c) {
  ask(c, 16 * draw_int(c, 6, 9), 32, 16 * draw_int(c, 10, 11));
}

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}

static Array *product(Case *c, int64_t begin, int64_t end) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = begin; p < end; p++)
        result->f32[i * n + j] += a[i * k + p] * b[p * n + j];
  return result;
}

static void suspect_mistakes(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, has_finding(c, "bounds") && got_count(c, "loads") == 2 * m * n * (k + 16) / 16, &BEYOND);
  if (k > 16) {
    suspect_array(c, "c", product(c, 0, k - 16), &LAST_STEP);
    suspect_array(c, "c", product(c, 16, k), &FIRST_STEP);
  }
  suspect_finding(c, "race-block", &TILE_RACE);
  suspect_finding(c, "race-warp", &TILE_RACE);
  const CaseSchedule schedule = case_schedule(c);
  suspect_that(c, schedule == SCHEDULE_THREADS_DOWN || schedule == SCHEDULE_WITHIN_BLOCKS, &TILE_RACE);
}

// Judged with at least 5 steps of 16: all loads of a thread but those of about two steps come before a fetch of the same stretch.
static void expect_prefetch(Case *c, int64_t steps) {
  const int64_t loads = got_count(c, "loads of a thread"), ahead = got_count(c, "loads ahead of a fetch");
  if (steps < 5)
    return;
  expect_that(
      c, ahead >= loads - 2 * loads / steps, &NO_PREFETCH,
      "thread 0 calls load %lld times, but only %lld of these calls come before a fetch with no barrier in between",
      (long long)loads, (long long)ahead);
  expect_at_most(c, "barriers", got_count(c, "barriers"), steps + 2, &BARRIERS);
}

static void judge(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  suspect_mistakes(c);
  if (!expect_array(c, "c", product(c, 0, k), 0) || !expect_by_kernel(c) || isnan(got_number(c, "loads")))
    return;
  if (expect_at_least(c, "elements read with load", got_count(c, "loads"), m * k + k * n, &NOT_COUNTED) &&
      expect_at_least(c, "words read with fetch", got_count(c, "fetches"), m * n * k / 8, &NOT_COUNTED))
    expect_prefetch(c, k / 16);
}

static void judge_inspected(Case *c) {
  judge(c);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "27_3_double_buffering",
    .title = "Double buffering",
    .after_pass = "Double buffering loads the next tiles while the block computes with the current ones, and it saves "
                  "one barrier per step.",
    .kind = "kernel",
    .chapter = 27,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = BUFFERS,
    .stars = {{"at most k / 16 + 2 barriers: one per step of 16", {&BARRIERS}}},
    .hints = {"A load into a register does not block: the thread waits only where it first uses the value. Load early, "
              "and use the value late.",
              "Use two pairs of tiles, such as __shared__ float a_tile[2][TILE][TILE], and a variable `now` that "
              "selects the current pair. Switch pairs with now = !now.",
              "Before the loop, each thread loads its elements of the first two tiles into registers. In each step, it "
              "stores the registers in the pair `now`, reaches a barrier, loads the next elements if there is a next "
              "step, computes with the pair `now`, and switches pairs.",
              "One barrier per step is enough. A thread stores to a pair only after it has passed the barrier of the "
              "step in between, and all other threads finished reading that pair before they reached this barrier."},
    .functions = {"matmul_on_device"},
    .tests = {{.name = "a single step", .ask = ask_one, .judge = judge_inspected, .inspect = true},
              {.name = "two steps", .ask = ask_two, .judge = judge_inspected, .inspect = true},
              {.name = "a few steps", .ask = ask_small, .judge = judge_inspected, .inspect = true},
              {.name = "many columns", .ask = ask_wide, .judge = judge},
              {.name = "many rows and steps", .ask = ask_tall, .judge = judge}},
};
