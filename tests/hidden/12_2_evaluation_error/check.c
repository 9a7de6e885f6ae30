// SPDX-License-Identifier: MIT
// Exercise 12.2: an evaluation in float16. Sum, squares and targets are float16 in the program with the bug.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define FORMATS "docs/12_mixed_precision.md#floating-point-formats"
#define REGION "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"

static const Mistake SUM = {"accumulation in float16",
                            "The sum was kept in float16. Once it is large, small addends are rounded away. "
                            "Accumulate in float32.",
                            FORMATS};
static const Mistake BEYOND = {"float16 overflow",
                               "The result is infinite: a target, a square or a sum above 65504 was computed in "
                               "float16. Convert to float32 first.",
                               FORMATS};
static const Mistake CUT = {"targets clamped to 65504",
                            "Do not clamp the targets to the range of float16. Keep them in float32.", FORMATS};
static const Mistake OTHER_TYPE = {"autocast in the wrong type",
                                   "The model ran under autocast, but not in float16. Set .dtype = FY_FLOAT16, because "
                                   "the default on the CPU is bfloat16.",
                                   "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"};
static const Mistake NO_AUTOCAST = {"forward pass without autocast",
                                    "Run the model under fy_autocast with .dtype = FY_FLOAT16.", REGION};
static const Mistake OFTEN = {"repeated forward passes", "Run each batch through the model once.",
                              "docs/07_pitfalls.md#batches-instead-of-single-samples"};
static const Mistake TERMS = {"catastrophic cancellation",
                              "o * o - 2 * o * y + y * y loses all significant digits if the error is small. Subtract "
                              "first, and square the difference.",
                              FORMATS};
static const Mistake ROOT = {"root mean squared error", "Return the mean squared error, without a square root.",
                             FORMATS};
static const Mistake TOTAL = {"sum instead of the mean", "Divide the sum by the number of elements of y.",
                              "docs/09_training_a_classifier.md#training-for-several-epochs"};
static const Mistake LAST = {"error of the last batch only",
                             "The result covers only the last batch. Add up the squares of all batches.",
                             "docs/09_training_a_classifier.md#training-for-several-epochs"};
static const Mistake HALF_RESULT = {"result in float16", "Return the mean in float32.", FORMATS};
static const Mistake WIDER = {"result in float64", "Return the mean in float32: fy_float(total).", FORMATS};
static const Mistake GRAPH = {"result attached to the autograd graph",
                              "The mean requires a gradient. Evaluate inside fy_no_grad.",
                              "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake WAITED = {"host synchronization",
                               "The host waited for the device, or a tensor was copied between host and device. Keep "
                               "the sum on the device, and read no numbers.",
                               "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake ON_HOST = {"result on the wrong device", "Return the mean on the device of x.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake NOTHING = {"no result returned", "Return the mean.", FORMATS};

// ---- asking ----------------------------------------------------------------------------------------------------------

typedef struct Ask {
  const char *device;
  int64_t batches, rows, out;
  double error, spread; // distance of the targets from the outputs, and its variation
  bool gaps;
} Ask;

static double output_of(const Array *x, const Array *w, const Array *b, int64_t row, int64_t column) {
  int64_t in = w->shape.size[1];
  double sum = b->f32[column];
  for (int64_t k = 0; k < in; k++)
    sum += (double)x->f32[row * in + k] * w->f32[column * in + k];
  return sum;
}

// Multiples of 1/8: products and their sums are exact in float16, so only the computation after the model matters.
static Array *eighths(Case *c, Shape size) {
  Array *a = draw_array(c, FY_FLOAT32, size, -1, 1);
  for (int64_t i = 0; i < a->count; i++)
    a->f32[i] = roundf(a->f32[i] * 8) / 8;
  return a;
}

static void ask(Case *c, Ask a) {
  int64_t in = draw_int(c, 3, 7);
  Array *x = eighths(c, shape(a.batches, a.rows, in)), *w = eighths(c, shape(a.out, in)), *b = eighths(c, shape(a.out));
  Array *y = new_array(c, FY_FLOAT32, shape(a.batches, a.rows, a.out));
  for (int64_t i = 0; i < y->count; i++) {
    double off = a.error + a.spread * draw_real(c, -1, 1);
    y->f32[i] = (float)(output_of(x, w, b, i / a.out, i % a.out) + (draw_int(c, 0, 1) ? off : -off));
  }
  give_text(c, "device", a.device);
  give_array(c, "x", x, (Give){.device = a.device, .strided = a.gaps});
  give_array(c, "y", y, (Give){.device = a.device});
  give_array(c, "weight", w, (Give){.device = a.device, .requires_grad = true});
  give_array(c, "bias", b, (Give){.device = a.device, .requires_grad = true});
}

// Squares near 0.4: from 256 on float16 numbers are 0.25 apart, so each addend counts as 0.5.
static Ask many(Case *c, const char *device) {
  return (Ask){device, draw_int(c, 1400, 1500), 1, 1, draw_real(c, 0.63, 0.645), 0.004, false};
}
static void ask_many_cpu(Case *c) {
  ask(c, many(c, "cpu"));
}
static void ask_many_gpu(Case *c) {
  ask(c, many(c, "cuda:0"));
}
// Squares above 65504 with targets below it; then targets above it.
static void ask_squares(Case *c) {
  ask(c, (Ask){"cuda:0", draw_int(c, 3, 5), draw_odd(c, 5, 9), 3, draw_real(c, 400, 600), 100, false});
}
static void ask_targets(Case *c) {
  ask(c, (Ask){"cuda:0", draw_int(c, 3, 5), draw_odd(c, 5, 9), 3, draw_real(c, 2e5, 4e5), 1e4, false});
}
static void ask_targets_cpu(Case *c) {
  ask(c, (Ask){"cpu", draw_int(c, 3, 5), draw_odd(c, 5, 9), 3, draw_real(c, 2e5, 4e5), 1e4, false});
}
static void ask_gaps(Case *c) {
  ask(c, (Ask){"cuda:0", draw_int(c, 3, 5), draw_odd(c, 5, 9), 3, draw_real(c, 300, 500), 40, true});
}
static void ask_near(Case *c) {
  ask(c, (Ask){"cuda:0", draw_int(c, 3, 5), draw_odd(c, 5, 9), 3, 0.0001, 0.00006, false});
}
static void ask_large(Case *c) {
  ask(c, (Ask){"cuda:0", draw_int(c, 11, 15), draw_odd(c, 101, 151), 5, draw_real(c, 20, 40), 10, false});
}
// The squares of one batch are near the largest float32. Multiplied by the number of batches they would overflow.
static void ask_largest(Case *c) {
  const int64_t batches = draw_int(c, 4, 5), rows = draw_odd(c, 5, 9);
  ask(c, (Ask){"cuda:0", batches, rows, 3, draw_real(c, 300, 500), 40, false});
  const int64_t one = rows * 3, first = draw_int(c, 0, batches - 1) * one;
  float *y = given(c, "y")->f32;
  for (int64_t i = first; i < first + one; i++)
    y[i] = copysignf((float)sqrt(1.5e38 / (double)one), y[i]);
}
static void ask_second(Case *c) {
  ask(c, (Ask){"cuda:1", draw_int(c, 3, 5), draw_odd(c, 5, 9), 3, draw_real(c, 300, 500), 40, false});
}
static void ask_one(Case *c) {
  ask(c, (Ask){"cpu", 1, 1, 1, draw_real(c, 300, 500), 40, false});
}

// ---- the means of the mistakes -----------------------------------------------------------------------------------------

static double square_to(Case *c, int64_t i, double target) {
  int64_t out = given(c, "y")->shape.size[2];
  double error = output_of(given(c, "x"), given(c, "weight"), given(c, "bias"), i / out, i % out) - target;
  return error * error;
}

static double square_at(Case *c, int64_t i) {
  return square_to(c, i, given(c, "y")->f32[i]);
}

// With targets clamped to the range of float16.
static double mean_to_cut_targets(Case *c) {
  const Array *y = given(c, "y");
  double sum = 0;
  for (int64_t i = 0; i < y->count; i++)
    sum += square_to(c, i, fmax(-65504, fmin(65504, y->f32[i])));
  return sum / (double)y->count;
}

static double mean_of(Case *c, int64_t from, int64_t to) {
  double sum = 0;
  for (int64_t i = from; i < to; i++)
    sum += square_at(c, i);
  return sum / (double)(to - from);
}

static double in_half(double x) {
  int exponent;
  frexp(x, &exponent);
  double digit = ldexp(1, (exponent < -13 ? -13 : exponent) - 11), near = nearbyint(x / digit) * digit;
  return near > 65504 ? INFINITY : near;
}

// The sums of the batches, added up in float16.
static double mean_with_half_sum(Case *c) {
  const Array *y = given(c, "y");
  int64_t one = y->count / y->shape.size[0];
  double total = 0;
  for (int64_t b = 0; b < y->shape.size[0]; b++)
    total = in_half(total + mean_of(c, b * one, (b + 1) * one) * (double)one);
  return total / (double)y->count;
}

static bool near(double got, double want, double tolerance) {
  return fabs(got - want) <= tolerance * fabs(want);
}

// o^2 - 2 o y + y^2 in float32 instead of (o - y)^2, from left to right or with the middle term last.
static double mean_of_terms(Case *c, bool middle_last) {
  const Array *y = given(c, "y");
  const int64_t out = y->shape.size[2];
  double sum = 0;
  for (int64_t i = 0; i < y->count; i++) {
    const float o = (float)output_of(given(c, "x"), given(c, "weight"), given(c, "bias"), i / out, i % out),
                t = y->f32[i];
    const float oo = o * o, ot = 2 * o * t, tt = t * t, first = middle_last ? oo + tt : oo - ot;
    sum += middle_last ? first - ot : first + tt;
  }
  return sum / (double)y->count;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static double value_of(const Array *a) {
  return a && a->dtype == FY_FLOAT32 && a->count == 1 ? (double)a->f32[0] : NAN;
}

static void suspects(Case *c, double want) {
  const Array *mean = got(c, "mean"), *y = given(c, "y");
  int64_t one = y->count / y->shape.size[0];
  double value = value_of(mean), half = mean_with_half_sum(c), last = mean_of(c, y->count - one, y->count);
  suspect_that(c, !*got_error(c) && !mean, &NOTHING);
  if (!mean)
    return;
  suspect_sure(c, mean->dtype == FY_FLOAT16, &HALF_RESULT);
  suspect_sure(c, mean->dtype == FY_FLOAT64, &WIDER);
  suspect_that(c, mean->dtype == FY_FLOAT32 && isinf(value) && want < 1e30, &BEYOND);
  suspect_that(c, near(value, mean_to_cut_targets(c), 1e-3) && !near(value, want, 2e-3), &CUT);
  suspect_that(c, isfinite(half) && near(value, half, 0.02) && !near(half, want, 0.04), &SUM);
  suspect_that(c, y->count > 1 && near(value, want * (double)y->count, 0.01), &TOTAL);
  suspect_that(c, near(value, sqrt(want), 0.01) && !near(want, 1, 0.1), &ROOT);
  suspect_that(c, near(value, last, 1e-3) && !near(last, want, 2e-3), &LAST);
  for (int last = 0; mean && mean->dtype == FY_FLOAT32 && mean->count == 1 && last < 2; last++) {
    const double terms = mean_of_terms(c, last);
    suspect_that(c, near(mean->f32[0], terms, 1e-3) && !near(terms, want, 1e-2), &TERMS);
  }
}

static void judge(Case *c) {
  const Array *y = given(c, "y");
  double want = mean_of(c, 0, y->count);
  Array *expected = new_array(c, FY_FLOAT32, (Shape){.rank = 0});
  expected->f32[0] = (float)want;
  suspects(c, want);
  // The tolerance of expect_array is absolute for a result below 1.
  if (!expect_array(c, "mean", expected, want < 1 ? 2e-3 * want : 2e-3) ||
      !expect_device(c, "mean", given_text(c, "device"), strcmp(got_device(c, "mean"), "cpu") == 0 ? &ON_HOST : NULL))
    return;
  expect_that(c, !(got(c, "mean")->flags & ARRAY_REQUIRES_GRAD), &GRAPH, "mean: expected to require no gradient");
  expect_at_least(c, "forward passes", got_count(c, "calls"), 1, NULL);
  expect_exactly(c, "forward passes in float16", got_count(c, "in float16"), got_count(c, "calls"),
                 got_count(c, "in another type") > 0 ? &OTHER_TYPE : &NO_AUTOCAST);
  expect_at_most(c, "forward passes", got_count(c, "calls"), y->shape.size[0], &OFTEN);
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, &WAITED);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, &WAITED);
  expect_at_most(c, "host synchronizations", counts(c)->synchronizations, 0, &WAITED);
}

EXERCISE = {
    .id = "12_2_evaluation_error",
    .title = "Find the bug: float16 evaluation",
    .after_pass = "Square and accumulate in float32: float16 overflows above 65504 and has three significant digits.",
    .kind = "find the bug",
    .chapter = 12,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = FORMATS,
    .stars = {{"at most one forward pass per batch", {&OFTEN}}, {"no copies, no host synchronization", {&WAITED}}},
    .hints =
        {"Print fy_dtype_name(fy_dtype_of(t)) for each tensor t in the loop. Which operations run in which data type?",
         "What is 300 squared in float16? What is 1024 + 0.4 in float16? Which values in the program can be that "
         "large?",
         "Make total float32, convert the output with fy_float before the subtraction, and leave the targets in "
         "float32."},
    .functions = {"mean_squared_error"},
    .tests = {{.name = "many small errors on the CPU", .ask = ask_many_cpu, .judge = judge},
              {.name = "many small errors on a GPU", .ask = ask_many_gpu, .judge = judge},
              {.name = "errors above 256", .ask = ask_squares, .judge = judge},
              {.name = "targets above 65504", .ask = ask_targets, .judge = judge},
              {.name = "targets above 65504 on the CPU", .ask = ask_targets_cpu, .judge = judge},
              {.name = "a non-contiguous input", .ask = ask_gaps, .judge = judge},
              {.name = "errors much smaller than the values", .ask = ask_near, .judge = judge},
              {.name = "large batches", .ask = ask_large, .judge = judge},
              {.name = "squares near the largest float32", .ask = ask_largest, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_targets_cpu, .judge = judge, .no_cuda = true}},
};
