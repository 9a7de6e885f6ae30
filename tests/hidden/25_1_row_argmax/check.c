// SPDX-License-Identifier: MIT
// Exercise 25.1: the maximum of each row and its first column, with a warp per row. There are few different values, so that most
// rows have their maximum several times.
#include "exercise.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define LESSON "docs/25_warps.md"

static const Mistake BITS = {"16-bit overflow", "A row may have more columns than a short can count. Use an int.",
                             "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake WRONG_TIE = {"tie broken wrongly",
                                  "The maximum is correct, but its column is not the first one. Of two equal values, "
                                  "take the one in the lower column, both within a lane and between lanes.",
                                  LESSON "#one-warp-per-row"};
static const Mistake ZERO = {
    "maximum initialized with 0",
    "All values of a row may be below 0. Start with -INFINITY, including in lanes without an element.",
    LESSON "#one-warp-per-row"};
static const Mistake SMALLEST = {
    "wrong initial maximum",
    "All values of a row may be below your initial maximum, or equal to it. Start with -INFINITY.",
    LESSON "#one-warp-per-row"};
static const Mistake FIRST_LANES = {"missing loop over the columns",
                                    "Each lane read only one element. A row may be longer than a warp, so let each "
                                    "lane loop over the columns in steps of 32.",
                                    LESSON "#one-warp-per-row"};
static const Mistake ONE_LANE = {
    "missing warp reduction",
    "Lane 0 wrote the maximum of its own columns only. Combine the maxima of all lanes with shuffles.",
    "docs/25_warps.md#warp-shuffles"};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "The lanes of a request read elements that are far apart. Let the lanes of a warp "
                                    "share a row, so that neighboring lanes read neighboring columns.",
                                    LESSON "#one-warp-per-row"};
static const Mistake FLAT_INDEX = {"flat index instead of column",
                                   "at[r] must be a column, from 0 to columns - 1. Do not add r * columns.",
                                   LESSON "#one-warp-per-row"};
static const Mistake TOO_SMALL = {
    "grid too small",
    "The last rows have no warp. Round the number of blocks up. If you limit it, let each warp loop over several rows.",
    LESSON "#one-warp-per-row"};
static const Mistake OUTSIDE = {
    "out-of-bounds access",
    "The last block may have more warps than there are rows left, and a row may be shorter than a warp. Compare the "
    "row with rows and the column with columns before you read or write.",
    LESSON "#one-warp-per-row"};
static const Mistake EMPTY_GRID = {
    "empty grid", "For rows = 0, the grid has 0 blocks, which is an invalid configuration. Launch nothing.",
    LESSON "#one-warp-per-row"};
static const Mistake ATOMICS = {
    "atomic operations",
    "If one warp processes a whole row, no other warp writes its result, so no atomic operation is needed.",
    "docs/25_warps.md#atomics"};
static const Mistake SEVERAL = {"several launches", "One launch is enough for all rows and both results.",
                                "docs/24_reductions.md#one-launch-or-two"};
static const Mistake LANES_MISSING = {"shuffle with missing lanes",
                                      "A lane in the mask has returned or did not reach the shuffle, so the value read "
                                      "from it is undefined. Let lanes without an element take part with -INFINITY.",
                                      "docs/25_warps.md#masks"};
static const Mistake ZEROS_DIFFER = {
    "sign of zero compared", "-0 and 0 are equal, although their bits differ. Take the one in the lower column.",
    LESSON "#one-warp-per-row"};
static const Mistake AGAIN = {
    "elements loaded again",
    "Your kernels load elements of x three times or more. Give each row to one warp, which reads it once or twice.",
    LESSON "#one-warp-per-row"};
static const Mistake NEAR_EQUAL = {"comparison with a tolerance",
                                   "Two values may differ by less than 1e-12, and still one of them is larger. Compare "
                                   "them with > and ==, without a tolerance.",
                                   LESSON "#one-warp-per-row"};

static void ask(Case *c, int64_t rows, int64_t columns, double low, double high) {
  Array *x = draw_steps(c, shape(rows, columns), low, high, 0.5); // equal ones among them
  for (int64_t i = 0; low < -1e6 && i < x->count; i++)
    x->f32[i] *= 0x1p101f;
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
}
static void ask_whole(Case *c) {
  ask(c, 4 * draw_int(c, 4, 9), 128, -9, 9);
}
// One row has its maximum several times, and one lane has two of them.
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 21, 49), draw_odd(c, 131, 199), -9, 9);
  const int64_t columns = (int64_t)given_number(c, "columns");
  float *row = given(c, "x")->f32 + draw_int(c, 0, 20) * columns;
  for (int64_t k = draw_int(c, 0, 31); k < columns; k += 32)
    row[k] = 9;
}
static void ask_below_zero(Case *c) {
  ask(c, draw_odd(c, 21, 49), draw_odd(c, 33, 63), -9, -1);
}
static void ask_short(Case *c) {
  ask(c, draw_odd(c, 33, 77), draw_odd(c, 3, 29), -9, 9);
}
static void ask_column(Case *c) {
  ask(c, draw_odd(c, 33, 77), 1, -9, 9);
}
static void ask_lowest(Case *c) {
  ask(c, draw_odd(c, 9, 21), draw_odd(c, 33, 63), -9e6, -5e6); // times 2^100
  float *x = given(c, "x")->f32;
  for (int64_t k = 0; k < (int64_t)given_number(c, "columns"); k++)
    x[k] = -FLT_MAX;
}
// No value above 0, and two zeros in each row, of different lanes; in every other row the first is -0.
static void ask_zeros(Case *c) {
  ask(c, draw_odd(c, 9, 21), draw_odd(c, 67, 99), -9, -1);
  const Array *x = given(c, "x");
  int64_t columns = (int64_t)given_number(c, "columns");
  for (int64_t row = 0; row < x->count / columns; row++) {
    int64_t first = draw_int(c, 0, columns - 35);
    x->f32[row * columns + first] = row % 2 ? 0 : -0.0f;
    x->f32[row * columns + first + draw_int(c, 1, 31)] = 0;
  }
}
// All rows but the first have values below 1e-17; no maximum is in column 0.
static void ask_tiny(Case *c) {
  ask(c, draw_odd(c, 9, 21), draw_odd(c, 67, 99), -9, 9);
  const Array *x = given(c, "x");
  const int64_t columns = (int64_t)given_number(c, "columns");
  for (int64_t i = 0; i < x->count; i++)
    x->f32[i] = (i % columns ? x->f32[i] : -9) * (i < columns ? 1 : 0x1p-60f);
}
static void ask_large(Case *c) {
  ask(c, 32 * draw_int(c, 2, 3) + 1, draw_odd(c, 1001, 1099), -2000, 2000);
}
// More rows than 1024 blocks of 128 threads have warps.
static void ask_many_rows(Case *c) {
  ask(c, draw_odd(c, 4101, 4399), 2, -9, 9);
}
// The maximum of each row is in a column that a short cannot count.
static void ask_many_columns(Case *c) {
  ask(c, 2, draw_odd(c, 125001, 131071), -2000, 2000);
  const int64_t columns = (int64_t)given_number(c, "columns");
  for (int row = 0; row < 2; row++)
    given(c, "x")->f32[row * columns + draw_int(c, 70000, columns - 1)] = 3000;
}
static void ask_none_first(Case *c) {
  ask(c, 5, 5, -9, 9);
  give_number(c, "none first", 1);
}

// The results when only columns k with k % period < part and k < end count; `last`: of equals the last.
typedef struct Result {
  Array *best, *at;
} Result;
static Result result(Case *c, int64_t end, int64_t period, bool last, double least) {
  const Array *x = given(c, "x");
  int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  Result r = {new_array(c, FY_FLOAT32, shape(rows)), new_array(c, FY_INT32, shape(rows))};
  for (int64_t row = 0; row < rows; row++) {
    double most = least;
    for (int64_t k = 0; k < columns && k < end; k += period) {
      double value = x->f32[row * columns + k];
      if (value > most || (last && value == most)) {
        most = value;
        r.at->i32[row] = (int32_t)k;
      }
    }
    r.best->f32[row] = (float)most;
  }
  return r;
}

static Array *flat_indices(Case *c, const Array *at) {
  Array *wrong = new_array(c, FY_INT32, at->shape);
  for (int64_t row = 0; row < at->count; row++)
    wrong->i32[row] = at->i32[row] + (int32_t)(row * given(c, "x")->shape.size[1]);
  return wrong;
}

// The columns in 16 bits, signed or unsigned.
static Array *in_16_bits(Case *c, const Array *at, bool with_sign) {
  Array *wrong = new_array(c, FY_INT32, at->shape);
  for (int64_t row = 0; row < at->count; row++)
    wrong->i32[row] = with_sign ? (int16_t)at->i32[row] : (uint16_t)at->i32[row];
  return wrong;
}

static bool same_values(const Array *a, const Array *b) {
  for (int64_t i = 0; a && i < a->count; i++)
    if (a->f32[i] != b->f32[i])
      return false;
  return a != NULL;
}

static bool last_row_missing(const Case *c) {
  const Array *best = got(c, "best");
  const int64_t rows = columns_written(best);
  return rows > 0 && rows < best->count;
}

// Rows whose values are all below one number have this number, below 0, instead of their maximum.
static bool begins_with_a_number(const Case *c, const Array *best, const Array *want) {
  float begin = 0;
  if (!best)
    return false;
  for (int64_t row = 0; row < best->count; row++) {
    const float value = best->f32[row];
    if (value == want->f32[row])
      continue;
    if (!(value > want->f32[row]) || value >= 0 || (begin != 0 && value != begin))
      return false;
    begin = value;
  }
  for (int64_t i = 0; i < given(c, "x")->count; i++)
    if (given(c, "x")->f32[i] == begin)
      return false;
  for (int64_t row = 0; row < best->count; row++)
    if (want->f32[row] < begin && best->f32[row] != begin)
      return false;
  return begin != 0;
}

static bool broken_guard(const Case *c, const char *name) {
  const Array *a = got(c, name);
  return a && a->flags & ARRAY_GUARD_BROKEN;
}

static void suspect_mistakes(Case *c, Result want) {
  int64_t rows = want.best->count, columns = given(c, "x")->shape.size[1];
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && rows > 0, &NO_KERNEL);
  suspect_sure(c, got_count(c, "lanes missing") > 0, &LANES_MISSING);
  suspect_finding(c, "bounds-global", &OUTSIDE);
  suspect_sure(c, broken_guard(c, "best") || broken_guard(c, "at"), &OUTSIDE);
  suspect_error(c, ": it reads ", &OUTSIDE);
  suspect_error(c, ": it writes ", &OUTSIDE);
  suspect_that(c, last_row_missing(c), &TOO_SMALL);
  suspect_array(c, "at", flat_indices(c, want.at), &FLAT_INDEX);
  suspect_array(c, "at", in_16_bits(c, want.at, false), &BITS);
  suspect_array(c, "at", in_16_bits(c, want.at, true), &BITS);
  if (same_values(got_shaped(c, "best", want.best->shape), want.best))
    return;
  suspect_array(c, "best", result(c, columns, 1, false, 0).best, &ZERO);
  suspect_that(c, begins_with_a_number(c, got_shaped(c, "best", want.best->shape), want.best), &SMALLEST);
  suspect_array(c, "best", result(c, 32, 1, false, -INFINITY).best, &FIRST_LANES);
  suspect_array(c, "best", result(c, columns, 32, false, -INFINITY).best, &ONE_LANE);
}

// In each row, `at` is a column that has the maximum.
static bool names_a_largest(const Case *c, const Array *at) {
  const Array *x = given(c, "x");
  int64_t columns = x->shape.size[1];
  for (int64_t row = 0; row < at->count; row++) {
    const float *numbers = x->f32 + row * columns;
    if (at->i32[row] < 0 || at->i32[row] >= columns)
      return false;
    for (int64_t k = 0; k < columns; k++)
      if (numbers[k] > numbers[at->i32[row]])
        return false;
  }
  return true;
}

static bool same_rows(const Array *at, const Array *want, int64_t step) { // rows 1, 1 + step, ...
  for (int64_t row = 1; row < at->count; row += step)
    if (at->i32[row] != want->i32[row])
      return false;
  return true;
}

// Row 0 is all -FLT_MAX, and its column does not exist; all others are right.
static bool least_left_out(const Case *c, const Array *at, const Array *want) {
  if (at->count == 0 || !same_rows(at, want, 1))
    return false;
  const bool is_column = at->i32[0] >= 0 && at->i32[0] < given(c, "x")->shape.size[1];
  return given(c, "x")->f32[0] == -FLT_MAX && !is_column;
}

// Wrong only in rows whose zeros have different signs.
static bool differs_in_sign(const Case *c, const Array *at, const Array *want) {
  return strcmp(case_test(c), "zeros of both signs") == 0 && same_rows(at, want, 2);
}

// The first row is right, and the others, whose values are all near 0, have column 0.
static bool is_near_equal(const Case *c, const Array *at, const Array *want) {
  if (!at || strcmp(case_test(c), "very small values") != 0 || at->i32[0] != want->i32[0])
    return false;
  for (int64_t row = 1; row < at->count; row++)
    if (at->i32[row] != 0)
      return false;
  return true;
}

static bool judge_values(Case *c) {
  Result want = result(c, given(c, "x")->shape.size[1], 1, false, -INFINITY);
  suspect_that(c, is_near_equal(c, got_shaped(c, "at", want.at->shape), want.at), &NEAR_EQUAL);
  suspect_mistakes(c, want);
  if (!expect_array(c, "best", want.best, 0))
    return false;
  const Array *at = got_shaped(c, "at", want.at->shape);
  suspect_that(c, at != NULL && least_left_out(c, at, want.at), &SMALLEST);
  const bool differs = at != NULL && memcmp(at->i32, want.at->i32, (size_t)at->count * sizeof *at->i32) != 0;
  if (differs && names_a_largest(c, at))
    suspect_that(c, true, differs_in_sign(c, at, want.at) ? &ZEROS_DIFFER : &WRONG_TIE);
  if (!expect_array(c, "at", want.at, 0))
    return false;
  if (want.best->count > 0 && !expect_by_kernel(c))
    return false;
  if (!isnan(got_number(c, "lanes missing")) && !expect_exactly(c, "shuffles that some lanes in the mask did not reach",
                                                                got_count(c, "lanes missing"), 0, &LANES_MISSING))
    return false;
  return expect_no_finding(c);
}

static void judge(Case *c) {
  judge_values(c);
}

static void judge_traffic(Case *c) {
  if (!judge_values(c) || !expect_inspected(c, LOADED_SECTORS, (Where){.in_all = true}, 1.5, &UNCOALESCED))
    return;
  expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
  expect_global_atomics(c, 0, &ATOMICS);
  expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "x")->count / 8 * 2.2, &AGAIN);
}

EXERCISE = {
    .id = "25_1_row_argmax",
    .title = "Row maximum and argmax",
    .after_pass = "Warp shuffles combine the values of 32 lanes in five steps, without shared memory or a barrier.",
    .kind = "kernel",
    .chapter = 25,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = LESSON "#one-warp-per-row",
    .stars = {{"one launch, and no atomic operation on global memory", {&SEVERAL, &ATOMICS}},
              {"all loads together access at most 2.2 x the sectors of x", {&AGAIN}}},
    .hints = {"The row of a warp is the warp's index in the grid: (blockIdx.x * blockDim.x + threadIdx.x) / 32.",
              "Let each lane start with -INFINITY and loop over k = lane, lane + 32, ... In this loop, it keeps the "
              "largest value and its column.",
              "Then combine the lanes in five steps, with distances 16, 8, 4, 2, 1. Each step needs one "
              "__shfl_down_sync for the value and one for its column.",
              "Take the other lane's pair if its value is larger, or if the values are equal and its column is lower. "
              "After the last step, lane 0 has the result."},
    .functions = {"row_maximum_on_device"},
    .tests = {{.name = "whole warps: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "one column", .ask = ask_column, .judge = judge},
              {.name = "rows shorter than a warp", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "all below zero", .ask = ask_below_zero, .judge = judge},
              {.name = "far below zero", .ask = ask_lowest, .judge = judge, .schedules = 1},
              {.name = "zeros of both signs", .ask = ask_zeros, .judge = judge, .schedules = 1},
              {.name = "very small values", .ask = ask_tiny, .judge = judge, .schedules = 1},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "many rows", .ask = ask_many_rows, .judge = judge, .schedules = 2},
              {.name = "many columns", .ask = ask_many_columns, .judge = judge, .schedules = 1},
              {.name = "no rows, then some", .ask = ask_none_first, .judge = judge}},
};
