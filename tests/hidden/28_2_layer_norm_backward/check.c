// SPDX-License-Identifier: MIT
// Exercise 28.2: the three gradients of layer norm: along the rows, and down the columns.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/28_kernels_of_a_network.md#layer-norm-backward"

static const Mistake NO_MEANS = {"only the direct part",
                                 "x also changes its row's mean and variance, and so every other result of the row: "
                                 "two means over the row are taken off.",
                                 LESSON};
static const Mistake NO_GAMMA = {
    "gamma left out of dx", "g is dy times gamma, in all three places of the formula: in both means, too.", LESSON};
static const Mistake NOT_DIVIDED = {"sums taken for means",
                                    "The formula has means of the row: divide the sums by the columns.", LESSON};
static const Mistake PADDED = {"the means of a longer row",
                               "A row has `columns` numbers, and its means are its sums divided by that, also where "
                               "threads beyond the row add zeros.",
                               LESSON};
static const Mistake OF_X = {"dgamma made of x", "gamma multiplies hat, not x: dgamma is the sum of dy * hat.", LESSON};
static const Mistake ATOMICS = {"atomic operations",
                                "Atomic additions come in another order each time, and floats are rounded at each. "
                                "Let the threads of a block add their columns in a fixed order.",
                                LESSON};
static const Mistake ADDED = {"added to what was there",
                              "dgamma and dbeta are to be written: what stood there before is no number.", LESSON};
static const Mistake DOWN = {"a warp down a column",
                             "A warp's request touched many more sectors than its bytes need: its lanes read from "
                             "different rows. Give the lanes of a warp neighbouring columns.",
                             LESSON};
static const Mistake FIRST = {"only the first columns",
                              "Columns beyond a block's threads were left as they were: go on in steps of the block.",
                              LESSON};
static const Mistake LEFT_OVER = {
    "rows left over",
    "Where the rows are no multiple of the threads that share a column's rows, the last of "
    "them have to be added, too.",
    LESSON};
static const Mistake SEVERAL = {"more than three launches", "One for the rows and one or two for the columns do it.",
                                "docs/28_kernels_of_a_network.md#layer-norm-backward"};

static const Mistake READ_AGAIN = {
    "read again and again",
    "The rows' sums need x and dy once, dx once more, and the columns' sums once more: more readings are "
    "traffic alone.",
    LESSON};
static const Mistake WORKED_OUT = {
    "mean or rstd worked out again",
    "The forward has kept both, and a gradient belongs to what it did: take them as they are given.", LESSON};
static const Mistake CANCELLED = {
    "the mean taken off too late",
    "Where x is multiplied first, hat or the mean of g * hat is a small difference of large numbers, and has their "
    "rounding. Take the row's mean off x before anything else.",
    LESSON};

static void ask_between(Case *c, int64_t rows, int64_t columns, double low, double high) {
  Array *x = draw_array(c, FY_FLOAT32, shape(rows, columns), low, high);
  Array *mean = new_array(c, FY_FLOAT32, shape(rows)), *rstd = new_array(c, FY_FLOAT32, shape(rows));
  for (int64_t row = 0; row < rows; row++) {
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < columns; k++)
      sum += (double)x->f32[row * columns + k] / (double)columns;
    for (int64_t k = 0; k < columns; k++)
      squares += pow((double)x->f32[row * columns + k] - sum, 2) / (double)columns;
    mean->f32[row] = (float)sum;
    rstd->f32[row] = (float)(1 / sqrt(squares + 1e-5));
  }
  give_array(c, "x", x, (Give){.device = "cuda:0"});
  give_array(c, "dy", draw_array(c, FY_FLOAT32, shape(rows, columns), -1, 2), (Give){.device = "cuda:0"});
  give_array(c, "gamma", draw_array(c, FY_FLOAT32, shape(columns), 0.5, 3), (Give){.device = "cuda:0"});
  give_array(c, "mean", mean, (Give){.device = "cuda:0"});
  give_array(c, "rstd", rstd, (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "columns", (double)columns);
}
static void ask(Case *c, int64_t rows, int64_t columns) {
  ask_between(c, rows, columns, -2, 3);
}
static void ask_whole(Case *c) {
  ask(c, 8 * draw_int(c, 4, 6), 32 * draw_int(c, 5, 8));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 33, 49), draw_odd(c, 131, 199));
}
static void ask_narrow(Case *c) {
  ask(c, draw_odd(c, 131, 199), draw_odd(c, 3, 29));
}
static void ask_large(Case *c) {
  ask(c, draw_odd(c, 301, 399), draw_odd(c, 1201, 1399));
}
static void ask_row(Case *c) {
  ask(c, 1, draw_odd(c, 131, 299));
}
// The forward has kept others than a row's own.
static void ask_others(Case *c) {
  ask(c, draw_odd(c, 9, 17), draw_odd(c, 131, 199));
  for (int64_t row = 0; row < given(c, "mean")->count; row++) {
    given(c, "mean")->f32[row] += 0.5f;
    given(c, "rstd")->f32[row] *= 1.25f;
  }
}
static void ask_far(Case *c) {
  ask_between(c, draw_odd(c, 9, 17), draw_odd(c, 131, 199), 8000, 8005);
}
static void ask_column(Case *c) {
  ask(c, draw_odd(c, 33, 49), 1);
}

// dx as a known mistake would make it: without the means, without gamma, with sums for means.
typedef struct Formula {
  bool no_means, no_gamma, sums;
  bool first_without, second_without; // gamma, in one of the two means
  bool own_mean, own_rstd;            // the row's, not the given ones
  int late;                           // hat is x * rstd - mean * rstd, in float: 1 in two roundings, 2 in one
  int portion;                        // the means are over as many columns as a multiple of this has
} Formula;

static double hat_of(Formula f, float x, double m, double r) {
  if (f.late == 0)
    return ((double)x - m) * r;
  const volatile float shift = (float)m * (float)r,
                       product = x * (float)r; // rounded, whatever the compiler would make of both
  return (double)(f.late == 1 ? product - shift : fmaf(x, (float)r, -shift));
}

static Array *dx_by(Case *c, Formula f) {
  const Array *x = given(c, "x"), *dy = given(c, "dy"), *gamma = given(c, "gamma");
  int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  Array *dx = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t row = 0; row < rows; row++) {
    double m = given(c, "mean")->f32[row], r = given(c, "rstd")->f32[row];
    double of_row = 0, squares = 0;
    for (int64_t k = 0; k < columns; k++)
      of_row += (double)x->f32[row * columns + k] / (double)columns;
    for (int64_t k = 0; k < columns; k++)
      squares += pow((double)x->f32[row * columns + k] - of_row, 2) / (double)columns;
    m = f.own_mean ? of_row : m;
    r = f.own_rstd ? 1 / sqrt(squares + 1e-5) : r;
    const int64_t wide = f.portion ? (columns + f.portion - 1) / f.portion * f.portion : columns;
    double mean_g = 0, mean_both = 0, over = f.sums ? 1 : (double)wide;
    for (int64_t k = 0; k < columns && !f.no_means; k++) {
      double g = (double)dy->f32[row * columns + k] * (f.no_gamma ? 1 : (double)gamma->f32[k]);
      const double plain = dy->f32[row * columns + k];
      mean_g += (f.first_without ? plain : g) / over;
      mean_both += (f.second_without ? plain : g) * hat_of(f, x->f32[row * columns + k], m, r) / over;
    }
    for (int64_t k = 0; k < columns; k++) {
      double g = (double)dy->f32[row * columns + k] * (f.no_gamma ? 1 : (double)gamma->f32[k]);
      double hat = hat_of(f, x->f32[row * columns + k], m, r);
      dx->f32[row * columns + k] = (float)(r * (g - mean_g - hat * mean_both));
    }
  }
  return dx;
}

static Array *sums_of_rows(Case *c, int64_t rows, bool with_hat, bool of_x) {
  const Array *x = given(c, "x"), *dy = given(c, "dy");
  int64_t columns = x->shape.size[1];
  Array *sums = new_array(c, FY_FLOAT32, shape(columns));
  for (int64_t k = 0; k < columns; k++) {
    double sum = 0;
    for (int64_t row = 0; row < rows; row++) {
      double value = x->f32[row * columns + k];
      double hat = of_x ? value : (value - (double)given(c, "mean")->f32[row]) * (double)given(c, "rstd")->f32[row];
      sum += (double)dy->f32[row * columns + k] * (with_hat ? hat : 1);
    }
    sums->f32[k] = (float)sum;
  }
  return sums;
}

static Array *column_sums(Case *c, bool with_hat, bool of_x) {
  return sums_of_rows(c, given(c, "x")->shape.size[0], with_hat, of_x);
}

static bool only_first(const Case *c) {
  const Array *dx = got_shaped(c, "dx", given(c, "x")->shape);
  const int64_t columns = columns_written(dx);
  return columns > 0 && columns < dx->shape.size[1];
}

// Is what dx differs by, in each row, hat times one number, and all else right? Then the mean of g * hat is not exact.
static bool is_cancelled(const Case *c, const Array *want) {
  const Array *x = given(c, "x"), *dx = got_shaped(c, "dx", x->shape);
  const int64_t columns = x->shape.size[1];
  bool differs = false;
  for (int64_t row = 0; dx && row < x->shape.size[0]; row++) {
    const float *of_x = x->f32 + row * columns, *had = dx->f32 + row * columns, *right = want->f32 + row * columns;
    double both = 0, squares = 0;
    for (int64_t k = 0; k < columns; k++) {
      const double hat = (double)of_x[k] - (double)given(c, "mean")->f32[row];
      both += ((double)had[k] - (double)right[k]) * hat;
      squares += hat * hat;
    }
    for (int64_t k = 0; k < columns; k++) {
      const double hat = (double)of_x[k] - (double)given(c, "mean")->f32[row];
      if (!(fabs((double)had[k] - (double)right[k] - hat * both / squares) < 2e-5))
        return false;
    }
    differs |= fabs(both / squares) > 3e-5;
  }
  return differs;
}

static void suspect_dx(Case *c, const Array *want) {
  const int64_t columns = want->shape.size[1];
  suspect_array(c, "dx", dx_by(c, (Formula){.no_means = true}), &NO_MEANS);
  suspect_array(c, "dx", dx_by(c, (Formula){.no_gamma = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.first_without = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.second_without = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.first_without = true, .second_without = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.sums = true}), &NOT_DIVIDED);
  for (int portion = 4; portion <= 1024; portion *= 2)
    if (columns % portion)
      suspect_array(c, "dx", dx_by(c, (Formula){.portion = portion}), &PADDED);
  if (strcmp(case_test(c), "mean and rstd of others") == 0)
    for (int which = 1; which <= 3; which++)
      suspect_array(c, "dx", dx_by(c, (Formula){.own_mean = which & 1, .own_rstd = which & 2}), &WORKED_OUT);
  if (strcmp(case_test(c), "a large mean") != 0)
    return;
  suspect_that(c, is_cancelled(c, want), &CANCELLED);
  for (int late = 1; late <= 2; late++)
    suspect_array(c, "dx", dx_by(c, (Formula){.late = late}), &CANCELLED);
}

static void judge(Case *c) {
  const Array *gamma = given(c, "gamma");
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, only_first(c), &FIRST);
  const Array *want = dx_by(c, (Formula){.sums = false});
  suspect_dx(c, want);
  suspect_array(c, "dgamma", column_sums(c, true, true), &OF_X);
  const int64_t rows = given(c, "x")->shape.size[0];
  for (int64_t share = 4; share <= 32; share *= 2)
    if (rows % share)
      suspect_array(c, "dgamma", sums_of_rows(c, rows / share * share, true, false), &LEFT_OVER);
  if (!expect_array(c, "dx", want, 1e-4))
    return;
  suspect_that(c, !*got_error(c) && columns_written(got_shaped(c, "dgamma", gamma->shape)) == 0, &ADDED);
  if (!expect_array(c, "dgamma", column_sums(c, true, false), 2e-4) ||
      !expect_array(c, "dbeta", column_sums(c, false, false), 2e-4) || !expect_by_kernel(c))
    return;
  expect_at_most(c, "launches", counts(c)->launches, 3, &SEVERAL);
  expect_no_finding(c);
  expect_global_atomics(c, 0, &ATOMICS);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_sectors(c, 1.5, &DOWN);
  expect_inspected(c, SECTORS_LOADED, (Where){.in_all = true}, (double)given(c, "x")->count / 8 * 12, &READ_AGAIN);
}

EXERCISE = {
    .id = "28_2_layer_norm_backward",
    .title = "Layer norm, backward",
    .after_pass = "Rows want their sums along the row, parameters theirs down the columns: two layouts of work.",
    .kind = "kernel",
    .chapter = 28,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON,
    .hints = {"Two kernels: one with a block for each row, one with a block for each 32 columns.",
              "dx: each thread goes through its columns and adds up g and g * hat; two sums over the block; then the "
              "columns once more.",
              "A sum over a block that is called twice needs a barrier at its end, too: all have read before anyone "
              "writes again.",
              "Columns: a block of 32 x 8 threads. threadIdx.x is the column, threadIdx.y takes every eighth row; the "
              "eight sums of a column are put together in shared memory."},
    .functions = {"layer_norm_backward_on_device"},
    .tests = {{.name = "whole warps: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "few columns", .ask = ask_narrow, .judge = judge, .inspect = true},
              {.name = "large, odd", .ask = ask_large, .judge = judge, .schedules = 1},
              {.name = "mean and rstd of others", .ask = ask_others, .judge = judge, .schedules = 1},
              {.name = "a large mean", .ask = ask_far, .judge = judge, .schedules = 1},
              {.name = "one row", .ask = ask_row, .judge = judge},
              {.name = "one column", .ask = ask_column, .judge = judge}},
};
