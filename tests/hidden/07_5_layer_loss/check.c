// SPDX-License-Identifier: MIT
// Exercise 7.5: an in-place change of a tensor that autograd has saved.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake CHANGED = {
    "a saved tensor changed in place",
    "sigmoid computes its gradient from its output, so that output is kept, and must stay as it "
    "is. The version number gives the change away, wherever it was made.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake CUT_OFF = {
    "cut off from the gradient",
    "What detach() returns, and what is computed in no_grad, has no past. The error is gone, and "
    "the gradients are as well.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake HALF = {
    "half of the gradient",
    "The value is right, but a part of it was taken from a detached tensor, and no gradient flows "
    "through that.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake UNSCALED = {
    "no rescaling",
    "The outputs have to lie between -1 and 1: 2 * gate - 1. It was left out, or its result was "
    "thrown away: without the underscore an operation returns a new tensor.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake SUMMED = {"the sum instead of the mean", "F.mse_loss takes the mean over all elements.",
                               "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake WHOLE_TANH = {"tanh of the whole score", "2 * sigmoid(z) - 1 is tanh(z / 2), not tanh(z).",
                                   "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake PART_OF_LOSS = {"a half or a quarter of the loss",
                                     "Where gate and target are compared between 0 and 1, each difference is half as "
                                     "large and its square a quarter: the "
                                     "loss has to be multiplied by 4.",
                                     "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake UNSHIFTED = {
    "the 0.5 left out",
    "Adding in place after a matrix product is harmless: its backward needs the factors, not "
    "the product.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake DISCARDED = {"the result thrown away",
                                  "One half of 2 * gate - 1 has no effect: without the underscore an operation returns "
                                  "a new tensor and leaves its first "
                                  "argument as it was.",
                                  "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake CALLERS = {
    "the caller's tensor changed",
    "The target belongs to the caller, who will need it again. Write the difference elsewhere.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake OVERFLOWS = {"exp of a large number",
                                  "From 89 on exp is more than a float holds, and an infinity divided by another is "
                                  "NaN. fy_sigmoid and fy_tanh are right there, too.",
                                  "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake KINK = {
    "no gradient at a score of 0",
    "The loss is right, and where the score is exactly 0 nothing flows back, although the sigmoid "
    "is steepest there: the score went through abs, relu or a comparison, which have a kink.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake KEPT = {"kept from an earlier call",
                             "The function was called before, on another GPU, and something is still there: what is "
                             "static keeps its value, and its place.",
                             "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake WEIGHT_ONLY = {"no gradient for x",
                                    "x requires a gradient, too: a layer hands it on to the layer before.",
                                    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake THROUGH_CPU = {"carried through the CPU", "Nothing here has a reason to leave the device.",
                                    "docs/07_pitfalls.md#to-and-fro-against-staying"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the loss.",
                                "docs/07_pitfalls.md#in-place-and-the-gradients"};

static void ask_range(Case *c, int64_t rows, int64_t in, int64_t out, double range, Give how) {
  Give grad = how;
  grad.requires_grad = true;
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, in), -range, range), grad);
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(in, out), -1, 1), grad);
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(rows, out), -1, 1), how);
}
static void ask_sizes(Case *c, int64_t rows, int64_t in, int64_t out, Give how) {
  ask_range(c, rows, in, out, 1, how);
}
static void ask_usual(Case *c, Give how) {
  ask_sizes(c, draw_odd(c, 11, 19), draw_int(c, 4, 6), draw_odd(c, 7, 9), how);
}

static void ask_gpu(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0"});
}
static void ask_cpu(Case *c) {
  ask_usual(c, (Give){0});
}
static void ask_gaps(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0", .strided = true});
}
static void ask_transposed(Case *c) {
  ask_usual(c, (Give){.device = "cuda:0", .transposed = true});
}
static void ask_large(Case *c) {
  ask_sizes(c, draw_odd(c, 101, 129), draw_odd(c, 21, 39), draw_odd(c, 51, 69), (Give){.device = "cuda:0"});
}
static void ask_one(Case *c) {
  ask_sizes(c, 1, 1, 1, (Give){.device = "cuda:0"});
}
static void ask_far(Case *c) { // scores whose exp is more than a float holds
  ask_range(c, draw_odd(c, 11, 19), draw_int(c, 4, 6), draw_odd(c, 7, 9), 200, (Give){.device = "cuda:0"});
}
// Every second row's product is -0.5, so that its scores are exactly 0.
static void ask_zero(Case *c) {
  int64_t rows = draw_odd(c, 11, 19), in = draw_int(c, 4, 6), out = draw_odd(c, 7, 9);
  Give how = {.device = "cuda:0"}, grad = {.device = "cuda:0", .requires_grad = true};
  Array *x = draw_array(c, FY_FLOAT32, shape(rows, in), -1, 1),
        *weight = draw_array(c, FY_FLOAT32, shape(in, out), -1, 1);
  for (int64_t j = 0; j < out; j++)
    weight->f32[j] = -0.5F;
  for (int64_t i = 0; i < x->count; i++)
    if (i / in % 2 == 0)
      x->f32[i] = i % in == 0 ? 1 : 0;
  give_array(c, "x", x, grad);
  give_array(c, "weight", weight, grad);
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(rows, out), -1, 1), how);
}
static void ask_second(Case *c) {
  ask_usual(c, (Give){.device = "cuda:1"});
}

// loss = mean((scale * sigmoid(x @ weight + shift) + offset - target)^2); `slope` is what the gradient takes for scale.
// `twice`: of twice the score. `kink`: without a gradient where the score is 0.
typedef struct Formula {
  double shift, scale, offset, slope;
  bool twice, kink;
} Formula;

typedef struct Result {
  Array *loss, *x, *weight;
  double farthest; // of the scores from 0
} Result;

static Result result_of(Case *c, Formula f) {
  const Array *x = given(c, "x"), *w = given(c, "weight"), *target = given(c, "target");
  int64_t rows = x->shape.size[0], in = x->shape.size[1], out = w->shape.size[1];
  double *dx = new_array(c, FY_FLOAT64, x->shape)->f64, *dw = new_array(c, FY_FLOAT64, w->shape)->f64, loss = 0,
         farthest = 0;
  for (int64_t k = 0; k < rows * out; k++) {
    int64_t i = k / out, j = k % out;
    double score = f.shift;
    for (int64_t l = 0; l < in; l++)
      score += (double)x->f32[i * in + l] * w->f32[l * out + j];
    farthest = fmax(farthest, fabs(score));
    double gate = 1 / (1 + exp(f.twice ? -2 * score : -score)), error = f.scale * gate + f.offset - target->f32[k];
    loss += error * error / (double)(rows * out);
    double slope = 2 * error / (double)(rows * out) * f.slope * gate * (1 - gate) * (f.kink && score == 0 ? 0 : 1);
    for (int64_t l = 0; l < in; l++) {
      dx[i * in + l] += slope * w->f32[l * out + j];
      dw[l * out + j] += slope * x->f32[i * in + l];
    }
  }
  Result r = {new_array(c, FY_FLOAT32, (Shape){0}), new_array(c, FY_FLOAT32, x->shape),
              new_array(c, FY_FLOAT32, w->shape), farthest};
  r.loss->f32[0] = (float)loss;
  for (int64_t i = 0; i < x->count; i++)
    r.x->f32[i] = (float)dx[i];
  for (int64_t i = 0; i < w->count; i++)
    r.weight->f32[i] = (float)dw[i];
  return r;
}

// So many times the loss: the sum of the squares in place of their mean, or a part of it.
static Array *times_loss(Case *c, double factor) {
  Array *loss = result_of(c, (Formula){.shift = 0.5, .scale = 2, .offset = -1, .slope = 2}).loss;
  loss->f32[0] *= (float)factor;
  return loss;
}

static void suspect_all(Case *c) {
  suspect_array(c, "loss", new_array(c, FY_FLOAT32, (Shape){0}), &CONSTANT);
  suspect_error(c, "modified by an inplace operation", &CHANGED);
  suspect_error(c, "does not require grad", &CUT_OFF);
  // On cuda:1 it went well; what is made on the current GPU would have failed there.
  suspect_that(c,
               given(c, "x")->device == 0 && got_number(c, "called before") == 1 && strstr(got_error(c), "same device"),
               &KEPT);
  suspect_that(c, !*got_error(c) && !got(c, "loss"), &NOTHING);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 1, 0, 1, false, false}).loss, &UNSCALED);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 1, -1, 1, false, false}).loss, &DISCARDED);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 2, 0, 2, false, false}).loss, &DISCARDED);
  suspect_array(c, "loss", result_of(c, (Formula){0, 2, -1, 2, false, false}).loss, &UNSHIFTED);
  suspect_array(c, "loss", times_loss(c, (double)given(c, "target")->count), &SUMMED);
  suspect_array(c, "loss", times_loss(c, 0.5), &PART_OF_LOSS);
  suspect_array(c, "loss", times_loss(c, 0.25), &PART_OF_LOSS);
  suspect_array(c, "loss",
                result_of(c, (Formula){.shift = 0.5, .scale = 2, .offset = -1, .slope = 2, .twice = true}).loss,
                &WHOLE_TANH);
  const Result half = result_of(c, (Formula){0.5, 2, -1, 1, false, false});
  suspect_that(c, half.farthest > 89 && (array_has_nan(got(c, "loss")) || array_has_nan(got(c, "weight.grad"))),
               &OVERFLOWS);
  suspect_array(c, "weight.grad", half.weight, &HALF);
  if (strcmp(case_test(c), "scores of 0") == 0)
    suspect_array(c, "weight.grad",
                  result_of(c, (Formula){.shift = 0.5, .scale = 2, .offset = -1, .slope = 2, .kink = true}).weight,
                  &KINK);
}

static bool expect_same(Case *c, const char *name) {
  const Array *before = given(c, name), *after = got(c, name);
  bool same = after && after->count == before->count && after->dtype == before->dtype &&
              memcmp(after->data, before->data, (size_t)before->count * sizeof(float)) == 0;
  return expect_that(c, same, &CALLERS, "%s: it was changed", name);
}

static void judge(Case *c) {
  Result want = result_of(c, (Formula){0.5, 2, -1, 2, false, false});
  suspect_all(c);
  const Array *x = given(c, "x");
  const char *device = x->device < 0 ? "cpu" : x->device == 0 ? "cuda:0" : "cuda:1";
  if (!expect_array(c, "loss", want.loss, 1e-5) || !expect_device(c, "loss", device, &THROUGH_CPU) ||
      !expect_same(c, "x") || !expect_same(c, "weight") || !expect_same(c, "target"))
    return;
  if (!expect_array(c, "weight.grad", want.weight, 1e-5) ||
      !expect_that(c, got(c, "x.grad") != NULL, &WEIGHT_ONLY, "x.grad: there is none"))
    return;
  expect_array(c, "x.grad", want.x, 1e-5);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &THROUGH_CPU);
  expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 0, &THROUGH_CPU);
}

EXERCISE = {
    .id = "07_5_layer_loss",
    .title = "Find the bug: the loss of a layer",
    .after_pass = "What backward has saved must not be changed in place before backward has run.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .bug = true,
    .lesson = "docs/07_pitfalls.md#in-place-and-the-gradients",
    .hints =
        {"The error says of which operation the changed tensor is the output. Three operations here work in place.",
         "Which of the three changes something that another operation needs again in backward? What does the gradient "
         "of "
         "a sigmoid need: its input or its output?",
         "The result of sigmoid has to stay as it is. Put what follows into a new tensor, as fy_mul_scalar does."},
    .functions = {"loss_of"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "views with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "transposed", .ask = ask_transposed, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "far from zero", .ask = ask_far, .judge = judge},
              {.name = "scores of 0", .ask = ask_zero, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
