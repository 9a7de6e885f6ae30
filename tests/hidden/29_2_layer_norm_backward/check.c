// SPDX-License-Identifier: MIT
// Exercise 29.2: the three gradients of layer norm: along the rows, and down the columns.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/29_fusion.md#layer-normalization-the-backward-pass"

static const Mistake NO_MEANS = {"gradient through mean and variance missing",
                                 "The mean and the variance of a row depend on x as well. Subtract both terms: the "
                                 "mean of g, and hat times the mean of g * hat.",
                                 LESSON};
static const Mistake NO_GAMMA = {
    "gamma left out of dx", "Use g = dy * gamma everywhere in the formula for dx: in the first term and in both means.",
    LESSON};
static const Mistake NOT_DIVIDED = {
    "sums instead of means", "The formula for dx has means over a row. Divide both sums by the number of columns.",
    LESSON};
static const Mistake PADDED = {"mean over padded row",
                               "The sums are divided by a rounded-up row length. Divide them by `columns`.", LESSON};
static const Mistake OF_X = {"dgamma computed from x", "gamma multiplies hat, not x, so dgamma is the sum of dy * hat.",
                             LESSON};
static const Mistake ATOMICS = {"floating-point atomics",
                                "Atomic additions run in a different order each time, and the rounding depends on the "
                                "order. Let the threads of a block sum each column in a fixed order.",
                                LESSON};
static const Mistake UNCOALESCED = {"uncoalesced access",
                                    "The lanes of a warp access different rows. Let neighboring lanes access "
                                    "neighboring columns, including when you sum down the columns.",
                                    LESSON};
static const Mistake FIRST = {"columns past the block size skipped",
                              "A row may have more columns than the block has threads. Let each thread loop over the "
                              "columns with the block size as the stride.",
                              LESSON};
static const Mistake LEFT_OVER = {
    "remaining rows left out",
    "The number of rows is not a multiple of the number of threads that share a column. Add the last rows as well.",
    LESSON};
static const Mistake LAUNCHES = {"too many launches",
                                 "Use one launch for dx, and one or two launches for dgamma and dbeta.", LESSON};

static void ask(Case *c, int64_t rows, int64_t columns) {
  Array *x = draw_array(c, FY_FLOAT32, shape(rows, columns), -2, 3);
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
static void ask_column(Case *c) {
  ask(c, draw_odd(c, 33, 49), 1);
}

// dx as a known mistake makes it; all zero: the right one.
typedef struct Formula {
  bool no_means, no_gamma, sums;
  bool first_without, second_without; // gamma, in one of the two means
  int multiple;                       // the means divide by the columns, rounded up to a multiple of this
} Formula;

static Array *dx_by(Case *c, Formula f) {
  const Array *x = given(c, "x"), *dy = given(c, "dy"), *gamma = given(c, "gamma");
  int64_t rows = x->shape.size[0], columns = x->shape.size[1];
  const int64_t padded = f.multiple ? (columns + f.multiple - 1) / f.multiple * f.multiple : columns;
  Array *dx = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t row = 0; row < rows; row++) {
    const float *xs = x->f32 + row * columns, *dys = dy->f32 + row * columns;
    double m = given(c, "mean")->f32[row], r = given(c, "rstd")->f32[row];
    double mean_g = 0, mean_both = 0, divisor = f.sums ? 1 : (double)padded;
    for (int64_t k = 0; k < columns && !f.no_means; k++) {
      double plain = dys[k], g = plain * (f.no_gamma ? 1 : (double)gamma->f32[k]);
      mean_g += (f.first_without ? plain : g) / divisor;
      mean_both += (f.second_without ? plain : g) * ((double)xs[k] - m) * r / divisor;
    }
    for (int64_t k = 0; k < columns; k++) {
      double g = (double)dys[k] * (f.no_gamma ? 1 : (double)gamma->f32[k]);
      dx->f32[row * columns + k] = (float)(r * (g - mean_g - ((double)xs[k] - m) * r * mean_both));
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
  return columns > 0 && columns < dx->shape.size[1] && columns % 32 == 0;
}

static void suspect_mistakes(Case *c) {
  const int64_t rows = given(c, "x")->shape.size[0], columns = given(c, "x")->shape.size[1];
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, only_first(c), &FIRST);
  suspect_array(c, "dx", dx_by(c, (Formula){.no_means = true}), &NO_MEANS);
  suspect_array(c, "dx", dx_by(c, (Formula){.no_gamma = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.first_without = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.second_without = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.first_without = true, .second_without = true}), &NO_GAMMA);
  suspect_array(c, "dx", dx_by(c, (Formula){.sums = true}), &NOT_DIVIDED);
  for (int multiple = 4; multiple <= 1024; multiple *= 2)
    if (columns % multiple)
      suspect_array(c, "dx", dx_by(c, (Formula){.multiple = multiple}), &PADDED);
  suspect_array(c, "dgamma", column_sums(c, true, true), &OF_X);
  for (int64_t share = 4; share <= 32; share *= 2)
    if (rows % share)
      suspect_array(c, "dgamma", sums_of_rows(c, rows / share * share, true, false), &LEFT_OVER);
}

static void judge(Case *c) {
  suspect_mistakes(c);
  if (!expect_array(c, "dx", dx_by(c, (Formula){.sums = false}), 1e-4) ||
      !expect_array(c, "dgamma", column_sums(c, true, false), 2e-4) ||
      !expect_array(c, "dbeta", column_sums(c, false, false), 2e-4) || !expect_by_kernel(c))
    return;
  expect_at_most(c, "kernel launches", counts(c)->launches, 3, &LAUNCHES);
  const int64_t columns = given(c, "gamma")->count;
  if (expect_no_finding(c) && columns > 100) // sums need two per column or more, a counter needs one per block
    expect_global_atomics(c, columns, &ATOMICS);
}

static void judge_traffic(Case *c) {
  judge(c);
  expect_sectors(c, 1.5, &UNCOALESCED);
}

EXERCISE = {
    .id = "29_2_layer_norm_backward",
    .title = "Layer norm, backward",
    .after_pass =
        "This backward pass has two reductions: along the rows for dx, and down the columns for dgamma and dbeta.",
    .kind = "kernel",
    .chapter = 29,
    .level = LEVEL_HARD,
    .minutes = 60,
    .lesson = LESSON,
    .stars = {{"coalesced: at most 1.5 x the ideal sectors per request", {&UNCOALESCED}},
              {"at most three kernel launches", {&LAUNCHES}}},
    .hints = {"Write two kernels. The one for dx has a block per row. The one for dgamma and dbeta has a block per 32 "
              "columns.",
              "For dx, each thread loops over its columns and sums g and g * hat. Reduce both sums over the block, "
              "divide them by columns, and loop over the columns again.",
              "If a kernel calls a block sum twice, the block sum needs a barrier at its end as well. All threads must "
              "have read the result before the next call overwrites shared memory.",
              "For dgamma and dbeta, use blocks of 32 x 8 threads. threadIdx.x selects the column, and each thread "
              "takes every eighth row, starting at row threadIdx.y. Then add the eight partial sums of each column in "
              "shared memory."},
    .functions = {"layer_norm_backward_on_device"},
    .tests = {{.name = "one row", .ask = ask_row, .judge = judge},
              {.name = "whole warps: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "few columns", .ask = ask_narrow, .judge = judge, .inspect = true},
              {.name = "large", .ask = ask_large, .judge = judge, .schedules = 1},
              {.name = "one column", .ask = ask_column, .judge = judge}},
};
