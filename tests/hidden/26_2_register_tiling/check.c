// SPDX-License-Identifier: MIT
// Exercise 26.2: a matrix product with register blocking, judged by its values and by what is read of shared memory. The elements
// are small whole numbers: every order of adding is exact.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/26_the_matrix_product.md"
#define REGISTERS LESSON "#registers-8-elements-then-64"
#define TILES LESSON "#tiles-in-shared-memory"

static const Mistake FETCHED_OFTEN = {
    "shared memory read too often",
    "A word that comes from shared memory has to be used for several multiply-adds: with one element of c for each "
    "thread it is "
    "used once, with a strip of 8 x 1 every second one. With 8 x 8 elements, 16 words serve 64.",
    REGISTERS};
static const Mistake LOADED_OFTEN = {"global memory read too often",
                                     "Both operands need a tile in __shared__ memory that the whole block fills once "
                                     "and uses, for 64 x 64 elements of c.",
                                     TILES};
static const Mistake STEP_TOO_LONG = {
    "steps that k is no multiple of",
    "k is a multiple of 8, and not always of 16: the last step read columns of a and rows of b that are not there, or "
    "was left out.",
    TILES};
static const Mistake NOT_COUNTED = {
    "reads past load and fetch",
    "The kernel has to read a and b through load, and its tiles through fetch: that is what is counted.", REGISTERS};
static const Mistake NO_BARRIER = {
    "a barrier is missing",
    "There are two for each step: one when the tiles are complete, before any thread reads them, and one "
    "before they are overwritten.",
    TILES};
static const Mistake LAST_STEP = {"only the last step",
                                  "The sums began anew at every step. They are set to 0 once, before the loop along k.",
                                  REGISTERS};
static const Mistake ONE_ROW = {
    "one factor for all rows",
    "All of a thread's rows have the same values: each of its sums needs its own row's element of a.", REGISTERS};
static const Mistake B_TURNED = {"b taken for its transpose", "b[i][j] is b[i * n + j]: its inner index is its row.",
                                 TILES};
static const Mistake ROWS_OF_B = {"b's rows taken for k long", "b has k rows of n elements: b[p][j] is b[p * n + j].",
                                  TILES};
static const Mistake ROWS_OF_A = {"a's rows taken for n long", "a has m rows of k elements: a[i][p] is a[i * k + p].",
                                  TILES};
static const Mistake ADDED = {"added to what was there", "c holds anything before; the product replaces it.", TILES};
static const Mistake SWAPPED = {"the grid the wrong way round",
                                "gridDim.x counts tiles across, which are n / 64, and gridDim.y those down, m / 64.",
                                TILES};
static const Mistake LAUNCHES = {"a launch for every step",
                                 "The loop along k is in the kernel: sums stay in registers from one step to the next.",
                                 "docs/26_the_matrix_product.md#tiles-in-shared-memory"};

static void ask(Case *c, int64_t m, int64_t n, int64_t k) {
  give_array(c, "a", draw_steps(c, shape(m, k), 1, 5, 0.25), (Give){.device = "cuda:0"});
  give_array(c, "b", draw_steps(c, shape(k, n), 1, 5, 0.25), (Give){.device = "cuda:0"});
  give_number(c, "m", (double)m);
  give_number(c, "n", (double)n);
  give_number(c, "k", (double)k);
}
static void ask_one(Case *c) {
  ask(c, 64, 64, 8 * draw_int(c, 3, 5));
}
static void ask_wide(Case *c) {
  ask(c, 64, 64 * draw_int(c, 2, 4), 8 * draw_int(c, 3, 6));
}
static void ask_tall(Case *c) {
  ask(c, 192, 64, 8 * draw_int(c, 3, 6));
}
static void ask_step(Case *c) {
  ask(c, 64, 128, 8);
}
static void ask_many(Case *c) {
  ask(c, 128, 192, 8 * draw_int(c, 5, 9));
}

static int64_t size_of(const Case *c, const char *name) {
  return (int64_t)given_number(c, name);
}

// The product over the inner indices from `begin` to before `end`; b as it is or as if it were stored turned; rows of c by the row of a that
// begins their group of `group`.
static Array *product(Case *c, int64_t begin, int64_t end, bool turned, int64_t group) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const float *a = given(c, "a")->f32, *b = given(c, "b")->f32;
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = begin; p < end; p++)
        result->f32[i * n + j] += a[i / group * group * k + p] * b[turned ? j * k + p : p * n + j];
  return result;
}

// The product with rows of other lengths. Beyond the end of a or b: 0.
static Array *with_rows(Case *c, int64_t of_a, int64_t of_b) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  const Array *a = given(c, "a"), *b = given(c, "b");
  Array *result = new_array(c, FY_FLOAT32, shape(m, n));
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++)
      for (int64_t p = 0; p < k; p++) {
        const int64_t at = i * of_a + p, bt = p * of_b + j;
        if (at < a->count && bt < b->count)
          result->f32[i * n + j] += a->f32[at] * b->f32[bt];
      }
  return result;
}

static void suspect_mistakes(Case *c) {
  int64_t k = size_of(c, "k");
  bool loads = got_number(c, "loads") > 0;
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_that(c, counts(c)->launches > 1, &LAUNCHES);
  suspect_that(c, loads && columns_written(got(c, "c")) == 0, &ADDED);
  if (k > 8)
    suspect_array(c, "c", product(c, k - 8, k, false, 1), &LAST_STEP);
  if (k % 16)
    suspect_array(c, "c", product(c, 0, k / 16 * 16, false, 1), &STEP_TOO_LONG);
  if (k > 16)
    suspect_array(c, "c", product(c, k - 16, k, false, 1), &LAST_STEP);
  suspect_array(c, "c", product(c, 0, k, true, 1), &B_TURNED);
  suspect_array(c, "c", product(c, 0, k, false, 8), &ONE_ROW);
  const int64_t n = size_of(c, "n");
  if (got(c, "c") && n != k) {
    suspect_array(c, "c", with_rows(c, k, k), &ROWS_OF_B);
    suspect_array(c, "c", with_rows(c, n, n), &ROWS_OF_A);
  }
  suspect_finding(c, "bounds", &SWAPPED);
  suspect_that(c, size_of(c, "m") != size_of(c, "n") && got(c, "c") && got(c, "c")->flags & ARRAY_GUARD_BROKEN,
               &SWAPPED);
  suspect_finding(c, "race-block", &NO_BARRIER);
  suspect_finding(c, "race-warp", &NO_BARRIER);
  suspect_finding(c, "uninitialised", &NO_BARRIER);
}

static bool judge_values(Case *c) {
  suspect_mistakes(c);
  if (!expect_array(c, "c", product(c, 0, size_of(c, "k"), false, 1), 0) || !expect_by_kernel(c))
    return false;
  return expect_at_most(c, "launches", counts(c)->launches, 1, &LAUNCHES);
}

static void judge(Case *c) {
  int64_t m = size_of(c, "m"), n = size_of(c, "n"), k = size_of(c, "k");
  if (!judge_values(c) || isnan(got_number(c, "loads")))
    return;
  int64_t loads = got_count(c, "loads"), fetches = got_count(c, "fetches");
  expect_at_least(c, "elements read by load", loads, m * k + k * n, &NOT_COUNTED);
  expect_at_most(c, "elements read by load", loads, 2 * m * n * k / 64,
                 k % 16 == 8 && loads == 2 * m * n * (k + 8) / 64 ? &STEP_TOO_LONG : &LOADED_OFTEN);
  expect_at_least(c, "words read by fetch", fetches, m * n * k / 6, &NOT_COUNTED); // 16 x 8 sums take 3 for 16
  expect_at_most(c, "words read by fetch", fetches, 3 * m * n * k / 8, &FETCHED_OFTEN);
}

static void judge_inspected(Case *c) {
  judge(c);
  expect_no_finding(c);
}

EXERCISE = {
    .id = "26_2_register_tiling",
    .title = "Register tiling",
    .after_pass = "Sixty-four sums in registers use each word that a thread reads eight times.",
    .kind = "kernel",
    .chapter = 26,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = REGISTERS,
    .hints = {"64 threads for a tile of 64 x 64: thread t has the 8 columns from t % 8 * 8 on, and the 8 rows from t / "
              "8 * 8 on.",
              "A tile of a is 64 x 8 and one of b 8 x 64, 512 elements each: every thread brings 8 of each. "
              "Neighbouring threads should "
              "bring neighbouring elements.",
              "For each p of the step: 8 words of a's column p into one array of registers, 8 of b's row p into "
              "another, then two loops of 8 "
              "over sum[i][j] += column[i] * row[j].",
              "Barriers stand where they stood in exercise 26.1: behind the bringing, and behind the computing."},
    .functions = {"matmul_on_device"},
    .tests = {{.name = "one tile", .ask = ask_one, .judge = judge_inspected, .inspect = true},
              {.name = "wide", .ask = ask_wide, .judge = judge},
              {.name = "tall", .ask = ask_tall, .judge = judge_inspected, .inspect = true},
              {.name = "a single step", .ask = ask_step, .judge = judge_inspected, .inspect = true},
              {.name = "many tiles", .ask = ask_many, .judge = judge}},
};
