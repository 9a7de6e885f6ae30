// SPDX-License-Identifier: MIT
// Exercise 26.3: a matrix product with two pairs of tiles, judged by its values, by barriers and by what comes before what. The
// elements are small whole numbers: every order of adding is exact.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/26_the_matrix_product.md"
#define BUFFERS LESSON "#two-pairs-of-tiles"
#define TILES LESSON "#tiles-in-shared-memory"

static const Mistake BARRIERS = {
    "two barriers in each step",
    "With two pairs of tiles one barrier a step is enough: the pair that is overwritten was read a step "
    "earlier, and all threads have come to a barrier since.",
    BUFFERS};
static const Mistake ONE_PAIR = {
    "a tile overwritten while it is read",
    "A thread wrote into tiles that another one still reads. With one barrier a step there have to be two "
    "pairs of tiles, which take turns.",
    BUFFERS};
static const Mistake NO_BARRIER = {
    "a barrier is missing",
    "A tile has to be complete before any thread reads it: there is a barrier between putting and computing.", BUFFERS};
static const Mistake LATE = {
    "the next tiles loaded after computing",
    "Loads that come behind the step's computing are on their way when nothing is left to do meanwhile. Load "
    "first, then compute.",
    BUFFERS};
static const Mistake LAST_STEP = {
    "the last tiles left out",
    "What was brought last was never multiplied: there are as many computations as pairs of tiles brought.", BUFFERS};
static const Mistake FIRST_STEP = {"the first tiles left out",
                                   "The first pair of tiles is brought before the loop, and has to be multiplied, too.",
                                   BUFFERS};
static const Mistake BEYOND = {"loaded beyond the matrices",
                               "In the last step there is no next one: nothing may be loaded then.", BUFFERS};
static const Mistake NOT_COUNTED = {
    "reads past load and fetch",
    "The kernel has to read a and b through load, and its tiles through fetch: that is what is noted.", BUFFERS};
static const Mistake READ_TOO_OFTEN = {
    "global memory read too often",
    "Both operands need tiles in __shared__ memory that the whole block fills once and uses.", TILES};
static const Mistake ADDED = {"added to what was there", "c holds anything before; the product replaces it.", TILES};
static const Mistake LAUNCHES = {"a launch for every step", "The loop along k is in the kernel.",
                                 "docs/26_the_matrix_product.md#two-pairs-of-tiles"};

// Behind each operand lie elements that are not zero.
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
  int64_t k = size_of(c, "k");
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->launches > 1, &LAUNCHES);
  suspect_that(c, got_number(c, "loads") > 0 && columns_written(got(c, "c")) == 0, &ADDED);
  suspect_finding(c, "bounds", &BEYOND);
  if (k > 16) {
    suspect_array(c, "c", product(c, 0, k - 16), &LAST_STEP);
    suspect_array(c, "c", product(c, 16, k), &FIRST_STEP);
  }
  bool never = got_count(c, "barriers") >= 0 && got_count(c, "barriers") < k / 16;
  suspect_that(c, never, &NO_BARRIER);
  suspect_finding(c, "race-block", &ONE_PAIR);
  suspect_finding(c, "race-warp", &ONE_PAIR);
  suspect_that(c, !never && case_schedule(c) != SCHEDULE_IN_ORDER && k > 16,
               &ONE_PAIR); // right with another order of the threads
}

static void judge(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k"), steps = k / 16;
  suspect_mistakes(c);
  if (!expect_array(c, "c", product(c, 0, k), 0) || !expect_by_kernel(c) ||
      !expect_at_most(c, "launches", counts(c)->launches, 1, &LAUNCHES) || isnan(got_number(c, "loads")))
    return;
  int64_t loads = got_count(c, "loads");
  if (!expect_at_least(c, "elements read by load", loads, m * k + k * n, &NOT_COUNTED) ||
      !expect_at_least(c, "words read by fetch", got_count(c, "fetches"), m * n * k / 8, &NOT_COUNTED) ||
      !expect_at_most(c, "elements read by load", loads, m * n * k / 4, &READ_TOO_OFTEN))
    return;
  expect_at_most(c, "barriers", got_count(c, "barriers"), steps + 1, &BARRIERS);
  expect_exactly(c, "steps in which was loaded behind the computing", got_count(c, "late"), 0, &LATE);
}

static void judge_inspected(Case *c) {
  judge(c);
  const double read = case_inspected(c) ? inspected(c, SHARED_LOADS, (Where){.in_all = true}) : 0;
  expect_that(c, read <= got_number(c, "fetches"), &NOT_COUNTED,
              "words read from shared memory: %.0f, and %.0f of them by fetch", read, got_number(c, "fetches"));
  expect_no_finding(c);
}

EXERCISE = {
    .id = "26_3_double_buffering",
    .title = "Double buffering",
    .after_pass = "With two pairs of tiles the next one is on its way while this one is used, and a barrier is saved.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = BUFFERS,
    .hints = {"Two pairs: __shared__ float a_tile[2][TILE][TILE], and a variable that says which pair is used now: now "
              "= !now.",
              "Before the loop each thread loads its element of the first two tiles, into registers.",
              "In a step: put what is in the registers into the pair `now`; the barrier; load the next elements, if "
              "there is a next step; "
              "compute with the pair `now`; take the other pair.",
              "Why one barrier is enough: who puts into a pair has passed the barrier of the step between, and all "
              "others had to have "
              "computed with that pair to come there."},
    .functions = {"matmul_on_device"},
    .tests = {{.name = "a few steps", .ask = ask_small, .judge = judge_inspected, .inspect = true},
              {.name = "two steps", .ask = ask_two, .judge = judge_inspected, .inspect = true},
              {.name = "a single step", .ask = ask_one, .judge = judge_inspected, .inspect = true},
              {.name = "wide", .ask = ask_wide, .judge = judge},
              {.name = "tall, many steps", .ask = ask_tall, .judge = judge}},
};
