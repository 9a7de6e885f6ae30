// SPDX-License-Identifier: MIT
// Exercise 34.1: cross-entropy of each row, and the gradient of its mean.
#include "exercise.h"
#include <math.h>

#define LESSON "docs/34_fast_gpt.md#the-loss-and-its-gradient-in-one-kernel"
#define SOFTMAX "docs/29_fusion.md#softmax-and-online-softmax"

static const Mistake UNSTABLE = {"numerically unstable softmax",
                                 "e^x overflows if x is large, and is 0 if x is far below 0. Subtract the row's "
                                 "maximum first. Start the maximum at -INFINITY, not at 0.",
                                 SOFTMAX};
static const Mistake LOG_OF_ZERO = {"log of a softmax that underflows",
                                    "The loss is infinite where p[t] is too small for a float. Compute log(sum) - "
                                    "(logits[t] - max) instead of -log(p[t]).",
                                    LESSON};
static const Mistake NO_ONE = {"target not subtracted",
                               "The gradient is the softmax. At the target's class, subtract 1 before you divide.",
                               LESSON};
static const Mistake NOT_DIVIDED = {"gradient of the sum instead of the mean",
                                    "The gradient is `rows` times too large. Divide it by the number of rows.", LESSON};
static const Mistake BY_CLASSES = {"divided by the number of classes",
                                   "The mean is over the rows. Divide the gradient by rows, not by classes.", LESSON};
static const Mistake ONE_NOT_DIVIDED = {
    "only the softmax divided by rows",
    "You subtracted 1 after the division. Subtract 1 from the softmax, then divide by rows.", LESSON};
static const Mistake NEGATED = {"sign of the gradient reversed",
                                "The gradient is softmax minus 1 at the target, not 1 minus softmax.", LESSON};
static const Mistake LOSS_NEGATED = {"sign of the loss reversed",
                                     "p[t] is at most 1, so log(p[t]) is at most 0. The loss is -log(p[t]).", LESSON};
static const Mistake NO_SUM = {"sum missing in the loss",
                               "The loss is max - logits[t]. Add the log of the sum of e^(x - max).", LESSON};
static const Mistake PROBABILITY = {"probability instead of the loss", "You returned p[t]. The loss is -log(p[t]).",
                                    LESSON};
static const Mistake DIVIDED_LOSS = {"loss divided by the number of rows",
                                     "loss[r] is the loss of row r alone. Only the gradient is that of the mean.",
                                     LESSON};
static const Mistake FIRST_TARGET = {"target of the first row for all rows",
                                     "Each row has its own target. Read target[r], not target[0].", LESSON};
static const Mistake FIRST = {"classes past the block size skipped",
                              "A row may have more classes than the block has threads. Let each thread loop over the "
                              "classes with stride blockDim.x.",
                              SOFTMAX};
static const Mistake RELOADED = {"more than two passes over the logits",
                                 "The kernel loads each row more than twice. Update the maximum and the sum in the "
                                 "same loop, as in online softmax.",
                                 SOFTMAX};
static const Mistake UNCOALESCED = {
    "uncoalesced access",
    "The lanes of a warp access elements that are far apart. Let the threads of a block or a warp share a row, and let "
    "neighboring threads access neighboring classes.",
    "docs/22_global_memory.md#strided-access"};
static const Mistake LAUNCHES = {"more than one launch",
                                 "You launch several kernels. One kernel can reduce a row, and write loss and "
                                 "gradient.",
                                 LESSON};
static const Mistake EMPTY_GRID = {
    "empty grid", "For rows = 0, a grid of 0 blocks is an invalid configuration. Launch nothing.", LESSON};

// ---- asking

static void ask(Case *c, int64_t rows, int64_t classes, double low, double high) {
  give_array(c, "logits", draw_array(c, FY_FLOAT32, shape(rows, classes), low, high), (Give){.device = "cuda:0"});
  give_array(c, "target", draw_array(c, FY_INT32, shape(rows), 0, (double)classes - 1), (Give){.device = "cuda:0"});
  give_number(c, "rows", (double)rows);
  give_number(c, "classes", (double)classes);
}
static void ask_one(Case *c) {
  ask(c, 1, 3, -3, 3);
}
static void ask_two(Case *c) {
  ask(c, 2, 5, -3, 3);
}
static void ask_characters(Case *c) { // the vocabulary of the lesson
  ask(c, draw_odd(c, 65, 99), 63, -4, 4);
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 9, 17), draw_odd(c, 257, 399), -4, 4);
}
// Whole sectors: their number tells how often the logits are loaded.
static void ask_whole(Case *c) {
  ask(c, 32, 256, -4, 4);
}
static void ask_high(Case *c) {
  ask(c, draw_odd(c, 5, 9), draw_odd(c, 1025, 1299), 980, 1000);
}
static void ask_low(Case *c) {
  ask(c, draw_odd(c, 5, 9), draw_odd(c, 1025, 1299), -1000, -980);
}
static void ask_wide(Case *c) { // most p[t] are 0 as floats
  ask(c, draw_odd(c, 21, 39), draw_odd(c, 129, 199), -700, 700);
}
static void ask_many(Case *c) {
  ask(c, draw_odd(c, 1031, 1299), draw_odd(c, 3, 29), -6, 6);
}
static void ask_single(Case *c) { // its loss is 0
  ask(c, draw_odd(c, 3, 9), 1, -6, 6);
}
static void ask_none_first(Case *c) {
  ask(c, 5, 7, -9, 9);
  give_number(c, "none first", 1);
}

// ---- in plain loops

typedef struct Result {
  Array *loss, *p, *gradient;
} Result;

static int64_t target_of(Case *c, int64_t row) {
  return given(c, "target")->i32[row];
}

static Result result_of(Case *c) {
  const Array *x = given(c, "logits");
  const int64_t rows = x->shape.size[0], classes = x->shape.size[1];
  Result r = {new_array(c, FY_FLOAT32, shape(rows)), new_array(c, FY_FLOAT32, x->shape),
              new_array(c, FY_FLOAT32, x->shape)};
  for (int64_t row = 0; row < rows; row++) {
    const float *in = x->f32 + row * classes;
    double most = -INFINITY, sum = 0;
    for (int64_t k = 0; k < classes; k++)
      most = fmax(most, (double)in[k]);
    for (int64_t k = 0; k < classes; k++)
      sum += exp((double)in[k] - most);
    r.loss->f32[row] = (float)(log(sum) + most - (double)in[target_of(c, row)]);
    for (int64_t k = 0; k < classes; k++) {
      const double p = exp((double)in[k] - most) / sum;
      r.p->f32[row * classes + k] = (float)p;
      r.gradient->f32[row * classes + k] = (float)((p - (k == target_of(c, row))) / (double)rows);
    }
  }
  return r;
}

// To a thousandth of the softmax, in units of 1 / rows.
static bool expect_gradient(Case *c, Result want) {
  const Array *had = got_shaped(c, "gradient", want.p->shape);
  const int64_t rows = want.p->shape.size[0], classes = want.p->shape.size[1];
  for (int64_t i = 0; had && i < had->count; i++) {
    const double right = (double)want.gradient->f32[i], bound = 1e-3 * (double)want.p->f32[i] + 2e-6;
    if (!expect_that(c, fabs((double)had->f32[i] - right) <= bound / (double)rows, NULL,
                     "gradient[%lld, %lld]: expected %g, got %g", (long long)(i / classes), (long long)(i % classes),
                     right, (double)had->f32[i]))
      return false;
  }
  return true;
}

typedef double Other(double p, double one, double rows, double classes);
static double no_one(double p, double one, double rows, double classes) {
  (void)one, (void)classes;
  return p / rows;
}
static double not_divided(double p, double one, double rows, double classes) {
  (void)rows, (void)classes;
  return p - one;
}
static double by_classes(double p, double one, double rows, double classes) {
  (void)rows;
  return (p - one) / classes;
}
static double one_not_divided(double p, double one, double rows, double classes) {
  (void)classes;
  return p / rows - one;
}
static double negated(double p, double one, double rows, double classes) {
  (void)classes;
  return (one - p) / rows;
}

static void suspect_gradient(Case *c, Result want, Other *other, const Mistake *mistake) {
  const int64_t rows = want.p->shape.size[0], classes = want.p->shape.size[1];
  Array *wrong = new_array(c, FY_FLOAT32, want.p->shape);
  for (int64_t i = 0; i < wrong->count; i++)
    wrong->f32[i] =
        (float)other((double)want.p->f32[i], i % classes == target_of(c, i / classes), (double)rows, (double)classes);
  suspect_array(c, "gradient", wrong, mistake);
}

static void suspect_losses(Case *c, Result want) {
  const Array *x = given(c, "logits"), *had = got_shaped(c, "loss", want.loss->shape);
  const int64_t rows = x->shape.size[0], classes = x->shape.size[1];
  Array *no_sum = new_array(c, FY_FLOAT32, shape(rows)), *p = new_array(c, FY_FLOAT32, shape(rows)),
        *mean = new_array(c, FY_FLOAT32, shape(rows)), *first = new_array(c, FY_FLOAT32, shape(rows));
  int64_t infinite = 0, wrong = 0;
  for (int64_t r = 0; r < rows; r++) {
    const float *row = x->f32 + r * classes, of_target = row[target_of(c, r)];
    float most = row[0];
    for (int64_t k = 0; k < classes; k++)
      most = fmaxf(most, row[k]);
    no_sum->f32[r] = most - of_target;
    p->f32[r] = want.p->f32[r * classes + target_of(c, r)];
    mean->f32[r] = want.loss->f32[r] / (float)rows;
    first->f32[r] = want.loss->f32[r] + of_target - row[target_of(c, 0)];
    infinite += had && isinf(had->f32[r]);
    wrong +=
        had && !(fabs((double)had->f32[r] - (double)want.loss->f32[r]) <= 1e-3 * fmax(1, (double)want.loss->f32[r]));
  }
  suspect_that(c, infinite > 0 && infinite == wrong, &LOG_OF_ZERO);
  suspect_array(c, "loss", array_negated(c, want.loss), &LOSS_NEGATED);
  suspect_array(c, "loss", no_sum, &NO_SUM);
  suspect_array(c, "loss", p, &PROBABILITY);
  if (rows > 1) {
    suspect_array(c, "loss", mean, &DIVIDED_LOSS);
    suspect_array(c, "loss", first, &FIRST_TARGET);
  }
}

static void suspects(Case *c, Result want) {
  const Array *x = given(c, "logits"), *gradient = got_shaped(c, "gradient", x->shape);
  const int64_t classes = x->shape.size[1], end = columns_written(gradient);
  int64_t nan = 0;
  for (int64_t i = 0; gradient && i < gradient->count; i++)
    nan += isnan(gradient->f32[i]) && !array_is_filling(gradient, i);
  suspect_error(c, "invalid configuration", &EMPTY_GRID);
  suspect_that(c, counts(c)->launches == 0, &NO_KERNEL);
  suspect_finding(c, "race", &RACE);
  suspect_that(c, end > 0 && end < classes && end % 32 == 0, &FIRST);
  suspect_that(c, nan > 0 && fabs((double)x->f32[0]) > 100, &UNSTABLE);
  suspect_losses(c, want);
  if (x->shape.size[0] > 1) {
    suspect_gradient(c, want, not_divided, &NOT_DIVIDED);
    suspect_gradient(c, want, one_not_divided, &ONE_NOT_DIVIDED);
  }
  suspect_gradient(c, want, no_one, &NO_ONE);
  suspect_gradient(c, want, negated, &NEGATED);
  if (x->shape.size[0] != classes)
    suspect_gradient(c, want, by_classes, &BY_CLASSES);
}

static void judge(Case *c) {
  const Result want = result_of(c);
  suspects(c, want);
  if (!expect_array(c, "loss", want.loss, 5e-4) || !expect_array(c, "gradient", want.gradient, 1e-5) ||
      !expect_gradient(c, want) || !expect_by_kernel(c))
    return;
  expect_at_most(c, "kernel launches", counts(c)->launches, 1, &LAUNCHES);
  expect_no_finding(c);
}

// Sectors that would do for the elements that are loaded: not what a bad access pattern adds.
static void judge_traffic(Case *c) {
  judge(c);
  const Where all = {.in_all = true};
  if (case_inspected(c) && inspected(c, ACTIVE_LANES, all) > 0.5) {
    const double least = inspected(c, SECTORS_LOADED, all) / inspected(c, LOADED_SECTORS, all);
    const double times = least * 8 / (double)given(c, "logits")->count;
    expect_that(c, times <= 2.75, &RELOADED, "logits are loaded %.1f times, expected at most 2.75 times", times);
  }
  expect_sectors(c, 1.5, &UNCOALESCED);
}

EXERCISE = {
    .id = "34_1_cross_entropy",
    .title = "Cross-entropy and its gradient",
    .after_pass = "Loss and gradient need the same softmax, so one kernel computes both, and stores no probabilities.",
    .kind = "kernel",
    .chapter = 34,
    .level = LEVEL_MEDIUM,
    .minutes = 45,
    .lesson = LESSON,
    .stars = {{"coalesced: at most 1.5 x the ideal sectors per request", {&UNCOALESCED}},
              {"one launch, and logits are loaded at most 2.75 times", {&RELOADED, &LAUNCHES}}},
    .hints = {"Begin with the softmax of exercise 29.1: one block per row, and maximum and sum in one loop.",
              "log(p[t]) is logits[t] - max - log(sum). In this form, nothing underflows.",
              "In the second loop, write (expf(x - max) / sum - (c == t)) / rows. One thread writes the loss."},
    .functions = {"cross_entropy_on_device"},
    .tests = {{.name = "one row", .ask = ask_one, .judge = judge, .inspect = true},
              {.name = "two rows", .ask = ask_two, .judge = judge, .inspect = true},
              {.name = "63 classes", .ask = ask_characters, .judge = judge, .inspect = true},
              {.name = "odd sizes", .ask = ask_odd, .judge = judge, .inspect = true},
              {.name = "32 rows of 256: values and traffic", .ask = ask_whole, .judge = judge_traffic, .inspect = true},
              {.name = "large logits", .ask = ask_high, .judge = judge},
              {.name = "logits far below 0", .ask = ask_low, .judge = judge},
              {.name = "p[t] too small for a float", .ask = ask_wide, .judge = judge},
              {.name = "many short rows", .ask = ask_many, .judge = judge, .inspect = true},
              {.name = "one class", .ask = ask_single, .judge = judge},
              {.name = "no rows first, then 5 rows", .ask = ask_none_first, .judge = judge}},
};
