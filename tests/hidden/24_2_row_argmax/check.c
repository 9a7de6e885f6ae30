// SPDX-License-Identifier: MIT
// Exercise 24.2: the maximum of each row and its first column, a warp for each. The numbers are few different ones, so that most
// rows have their largest several times.
#include "exercise.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define LESSON "docs/24_reductions.md"

static const Mistake BITS = {"columns counted in 16 bits",
                             "A row may have more columns than a short holds: their numbers are ints.",
                             "docs/20_the_first_kernel.md#grid-block-guard"};
static const Mistake LAST_OF_EQUALS = {"the wrong one of equals",
                                       "The largest number is right, its column is not the first: of two equal numbers "
                                       "the one in the lower column has to win, where "
                                       "a lane meets them as well as where lanes put theirs together.",
                                       LESSON "#shuffles"};
static const Mistake ZERO = {
    "zero taken for the smallest number",
    "A lane that has met no element yet holds -INFINITY, not 0: all numbers of a row may be below 0.", LESSON "#masks"};
static const Mistake SMALLEST = {
    "a number taken for the smallest",
    "All numbers of a row may be below -1e30. A lane that has met no number yet holds -INFINITY.", LESSON "#masks"};
static const Mistake FIRST_LANES = {
    "only the first 32 columns",
    "Each lane took one element. A row may be longer than a warp: a lane goes on in steps of 32.", LESSON "#shuffles"};
static const Mistake ONE_LANE = {
    "what one lane met",
    "Lane 0 wrote the largest of its own columns. The other lanes have met numbers, too: they are put "
    "together by shuffles.",
    LESSON "#shuffles"};
static const Mistake BESIDE = {
    "neighbouring lanes far apart",
    "A warp's request touched many more sectors than its bytes need: its lanes read from different rows, or each from "
    "a piece of its own. Let the lanes of a warp share a row, and neighbours read neighbours.",
    LESSON "#shuffles"};
static const Mistake IN_ALL = {"the column counted from the beginning of x", "`at` is a column: 0 .. columns-1.",
                               LESSON "#shuffles"};
static const Mistake ROUNDED_DOWN = {
    "rows left out",
    "The last rows had no warp: the number of blocks was rounded down, or has a limit and nobody goes on behind it.",
    LESSON "#shuffles"};
static const Mistake BEYOND = {
    "rows beyond the last",
    "The last block has more warps than there are rows left. A warp without a row has nothing to read "
    "and nothing to write.",
    LESSON "#masks"};
static const Mistake EMPTY_GRID = {"a grid of no blocks",
                                   "For no rows a grid of no blocks is an invalid configuration.", LESSON "#shuffles"};
static const Mistake ATOMICS = {"atomic operations", "A row is one warp's business: nobody else writes its result.",
                                LESSON "#atomics"};
static const Mistake SEVERAL = {"more than one launch", "One launch finds both, for all rows.",
                                "docs/24_reductions.md#one-launch-or-two"};

static const Mistake LANES_MISSING = {"lanes that do not come to a shuffle",
                                      "A lane of the mask had returned or gone round the shuffle, and what others get "
                                      "from it is undefined. A lane without "
                                      "a number brings -INFINITY.",
                                      LESSON "#masks"};
static const Mistake ZEROS_DIFFER = {"-0 taken for less than 0",
                                     "-0 and 0 are equal, although their bits are not: of the two the one in the lower "
                                     "column has to win.",
                                     LESSON "#shuffles"};
static const Mistake LEAST_LEFT_OUT = {
    "a number taken for none",
    "-FLT_MAX is a number that a row may consist of. A lane that has met no element yet holds -INFINITY, or knows it.",
    LESSON "#masks"};
static const Mistake AGAIN = {
    "elements read more than once",
    "Two readings of a row are enough for its largest number and the place of it, and each row has one warp.",
    "docs/24_reductions.md#shuffles"};
static const Mistake NEAR_EQUAL = {
    "what is near taken for equal",
    "Two numbers may be less than 1e-12 apart, and one of them is the larger all the same: > and == compare them.",
    LESSON "#shuffles"};

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
// One row has its largest several times, and a lane has two of them.
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
// Nothing above 0, and two zeros in each row, of different lanes; in every other row the first is -0.
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
// All rows but the first have numbers below 1e-17; no largest is in column 0.
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
// The largest of each row is far behind, where a short does not reach.
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

static Array *counted_in_all(Case *c, const Array *at) {
  Array *wrong = new_array(c, FY_INT32, at->shape);
  for (int64_t row = 0; row < at->count; row++)
    wrong->i32[row] = at->i32[row] + (int32_t)(row * given(c, "x")->shape.size[1]);
  return wrong;
}

// What is left of a column's number in 16 bits, with a sign or without.
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

// Where a row's numbers are all below it, one number below 0 is there in place of the largest.
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

static void suspect_mistakes(Case *c, Result want) {
  int64_t rows = want.best->count, columns = given(c, "x")->shape.size[1];
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0 && rows > 0, &NO_KERNEL);
  if (columns >= 32) // else it may be the columns that end
    suspect_finding(c, "bounds", &BEYOND);
  suspect_that(c, last_row_missing(c), &ROUNDED_DOWN);
  suspect_array(c, "at", counted_in_all(c, want.at), &IN_ALL);
  suspect_array(c, "at", in_16_bits(c, want.at, false), &BITS);
  suspect_array(c, "at", in_16_bits(c, want.at, true), &BITS);
  if (same_values(got_shaped(c, "best", want.best->shape), want.best))
    return;
  suspect_array(c, "best", result(c, columns, 1, false, 0).best, &ZERO);
  suspect_that(c,
               !(got_count(c, "lanes missing") > 0) &&
                   begins_with_a_number(c, got_shaped(c, "best", want.best->shape), want.best),
               &SMALLEST);
  suspect_array(c, "best", result(c, 32, 1, false, -INFINITY).best, &FIRST_LANES);
  suspect_array(c, "best", result(c, columns, 32, false, -INFINITY).best, &ONE_LANE);
}

// Does `at` name, in each row, a column that has the largest?
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

static bool same_rows(const Array *at, const Array *want, int64_t step) { // row 1 and each `step` behind it
  for (int64_t row = 1; row < at->count; row += step)
    if (at->i32[row] != want->i32[row])
      return false;
  return true;
}

// Row 0 is all -FLT_MAX, and has no column that there is; all others are right.
static bool least_left_out(const Case *c, const Array *at, const Array *want) {
  if (at->count == 0 || !same_rows(at, want, 1))
    return false;
  const bool is_column = at->i32[0] >= 0 && at->i32[0] < given(c, "x")->shape.size[1];
  return given(c, "x")->f32[0] == -FLT_MAX && !is_column;
}

// Only where the zeros have different signs: of two of one sign the first is taken.
static bool differs_in_sign(const Case *c, const Array *at, const Array *want) {
  return strcmp(case_test(c), "zeros of either sign") == 0 && same_rows(at, want, 2);
}

// The first row is right, and of the others, whose numbers are all near 0, the first column is taken.
static bool is_near_equal(const Case *c, const Array *at, const Array *want) {
  if (!at || strcmp(case_test(c), "very small numbers") != 0 || at->i32[0] != want->i32[0])
    return false;
  for (int64_t row = 1; row < at->count; row++)
    if (at->i32[row] != 0)
      return false;
  return true;
}

static void judge(Case *c) {
  Result want = result(c, given(c, "x")->shape.size[1], 1, false, -INFINITY);
  suspect_that(c, is_near_equal(c, got_shaped(c, "at", want.at->shape), want.at), &NEAR_EQUAL);
  suspect_mistakes(c, want);
  suspect_that(c, got_count(c, "lanes missing") > 0, &LANES_MISSING);
  if (!expect_array(c, "best", want.best, 0))
    return;
  const Array *at = got_shaped(c, "at", want.at->shape);
  suspect_that(c, at != NULL && least_left_out(c, at, want.at), &LEAST_LEFT_OUT);
  const bool differs = at != NULL && memcmp(at->i32, want.at->i32, (size_t)at->count * sizeof *at->i32) != 0;
  if (differs && names_a_largest(c, at))
    suspect_that(c, true, differs_in_sign(c, at, want.at) ? &ZEROS_DIFFER : &LAST_OF_EQUALS);
  if (!expect_array(c, "at", want.at, 0))
    return;
  if (want.best->count > 0 && !expect_by_kernel(c))
    return;
  if (!isnan(got_number(c, "lanes missing")))
    expect_exactly(c, "shuffles to which lanes of the mask did not come", got_count(c, "lanes missing"), 0,
                   &LANES_MISSING);
  expect_at_most(c, "launches", counts(c)->launches, 1, &SEVERAL);
  expect_no_finding(c);
  expect_global_atomics(c, 0, &ATOMICS);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_sectors(c, 1.5, &BESIDE);
  expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "x")->count / 8 * 2.2, &AGAIN);
}

EXERCISE = {
    .id = "24_2_row_argmax",
    .title = "Row maximum and argmax",
    .after_pass = "Shuffles pass values between the lanes of a warp, without shared memory and without a barrier.",
    .kind = "kernel",
    .chapter = 24,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = LESSON "#shuffles",
    .hints =
        {"The warp's number in the grid is the row: (blockIdx.x * blockDim.x + threadIdx.x) / 32.",
         "Each lane: most = -INFINITY, and for (k = lane; k < columns; k += 32) it keeps what is larger, and k.",
         "Two shuffles a step, one for the number and one for its column, with the same distance: 16, 8, 4, 2, 1.",
         "Take the other's when it is larger, or equal and further to the left. Lane 0 has the result in the end."},
    .functions = {"row_maximum_on_device"},
    .tests = {{.name = "whole warps: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "all below zero", .ask = ask_below_zero, .judge = judge},
              {.name = "far below zero", .ask = ask_lowest, .judge = judge, .schedules = 1},
              {.name = "zeros of either sign", .ask = ask_zeros, .judge = judge, .schedules = 1},
              {.name = "very small numbers", .ask = ask_tiny, .judge = judge, .schedules = 1},
              {.name = "rows shorter than a warp", .ask = ask_short, .judge = judge, .inspect = true},
              {.name = "one column", .ask = ask_column, .judge = judge},
              {.name = "large, odd", .ask = ask_large, .judge = judge},
              {.name = "many rows", .ask = ask_many_rows, .judge = judge, .schedules = 2},
              {.name = "many columns", .ask = ask_many_columns, .judge = judge, .schedules = 1},
              {.name = "no rows, then some", .ask = ask_none_first, .judge = judge}},
};
