// SPDX-License-Identifier: MIT
// Exercise 7.5: an in-place change of a tensor that autograd has saved.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define GRADIENTS "docs/07_pitfalls.md#in-place-operations-and-autograd"

static const Mistake CHANGED = {"saved tensor modified in place",
                                "Autograd needs the output of fy_sigmoid to compute the gradient. Do not change this "
                                "tensor before the backward pass. Write the next result to a new tensor.",
                                GRADIENTS};
static const Mistake CUT_OFF = {"loss detached from the graph",
                                "The loss has no grad_fn. Do not use fy_detach or fy_no_grad for it.", GRADIENTS};
static const Mistake HALF = {"part of the graph detached",
                             "The loss is correct, but a part of it is computed from a detached tensor, which receives "
                             "no gradient. Do not detach this tensor.",
                             GRADIENTS};
static const Mistake UNSCALED = {
    "missing rescaling",
    "The output must be 2 * gate - 1. An operation without an underscore returns a new tensor: use its result.",
    GRADIENTS};
static const Mistake SUMMED = {"sum instead of mean", "F.mse_loss takes the mean over all elements.", GRADIENTS};
static const Mistake WHOLE_TANH = {"wrong argument of tanh", "2 * sigmoid(z) - 1 is tanh(z / 2), not tanh(z).",
                                   GRADIENTS};
static const Mistake PART_OF_LOSS = {
    "wrong scale of the loss",
    "The loss has a wrong constant factor. For example, with outputs between 0 and 1, each difference is half as "
    "large, and its square a quarter. Compare 2 * gate - 1 with target.",
    GRADIENTS};
static const Mistake UNSHIFTED = {
    "missing bias",
    "Add 0.5 to the product. You may add in place, because the gradient of a matrix product needs only its factors.",
    GRADIENTS};
static const Mistake DISCARDED = {"result of an operation ignored",
                                  "Only one of the two operations in 2 * gate - 1 has an effect. An operation without "
                                  "an underscore returns a new tensor: use its result.",
                                  GRADIENTS};
static const Mistake KEPT = {"state kept between calls",
                             "The previous call ran on a different GPU, and you still use one of its tensors. A static "
                             "variable keeps its value between calls.",
                             "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake WEIGHT_ONLY = {"input detached from the graph",
                                    "x also requires a gradient, because the previous layer needs it. Do not detach x.",
                                    GRADIENTS};
static const Mistake ON_CPU = {"result on the wrong device", "Return the loss on the device of x.",
                               "docs/07_pitfalls.md#mismatched-devices"};
static const Mistake COPIES = {"unnecessary transfer", "All inputs are already on the device. Compute the loss there.",
                               "docs/07_pitfalls.md#keep-data-on-the-device"};
static const Mistake NOTHING = {"missing return value", "Return the loss.", GRADIENTS};

static void ask_sizes(Case *c, int64_t rows, int64_t in, int64_t out, Give how) {
  Give grad = how;
  grad.requires_grad = true;
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, in), -1, 1), grad);
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(in, out), -1, 1), grad);
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(rows, out), -1, 1), how);
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
static void ask_second(Case *c) {
  ask_usual(c, (Give){.device = "cuda:1"});
}

// loss = mean((scale * sigmoid(x @ weight + shift) + offset - target)^2), where the gradient has `slope` instead of
// `scale`. `twice`: of twice the score.
typedef struct Formula {
  double shift, scale, offset, slope;
  bool twice;
} Formula;

typedef struct Result {
  Array *loss, *x, *weight;
} Result;

static Result result_of(Case *c, Formula f) {
  const Array *x = given(c, "x"), *w = given(c, "weight"), *target = given(c, "target");
  int64_t rows = x->shape.size[0], in = x->shape.size[1], out = w->shape.size[1];
  double *dx = new_array(c, FY_FLOAT64, x->shape)->f64, *dw = new_array(c, FY_FLOAT64, w->shape)->f64, loss = 0;
  for (int64_t k = 0; k < rows * out; k++) {
    int64_t i = k / out, j = k % out;
    double score = f.shift;
    for (int64_t l = 0; l < in; l++)
      score += (double)x->f32[i * in + l] * w->f32[l * out + j];
    double gate = 1 / (1 + exp(f.twice ? -2 * score : -score)), error = f.scale * gate + f.offset - target->f32[k];
    loss += error * error / (double)(rows * out);
    double slope = 2 * error / (double)(rows * out) * f.slope * gate * (1 - gate);
    for (int64_t l = 0; l < in; l++) {
      dx[i * in + l] += slope * w->f32[l * out + j];
      dw[l * out + j] += slope * x->f32[i * in + l];
    }
  }
  Result r = {new_array(c, FY_FLOAT32, (Shape){0}), new_array(c, FY_FLOAT32, x->shape),
              new_array(c, FY_FLOAT32, w->shape)};
  r.loss->f32[0] = (float)loss;
  for (int64_t i = 0; i < x->count; i++)
    r.x->f32[i] = (float)dx[i];
  for (int64_t i = 0; i < w->count; i++)
    r.weight->f32[i] = (float)dw[i];
  return r;
}

// The loss times a factor: the sum of the squares, or a part of the mean.
static Array *times_loss(Case *c, double factor) {
  Array *loss = result_of(c, (Formula){.shift = 0.5, .scale = 2, .offset = -1, .slope = 2}).loss;
  loss->f32[0] *= (float)factor;
  return loss;
}

static void suspect_all(Case *c) {
  suspect_error(c, "modified by an inplace operation", &CHANGED);
  suspect_error(c, "does not require grad", &CUT_OFF);
  // The call on cuda:1 before was right, which excludes a tensor on the current GPU.
  suspect_that(c,
               given(c, "x")->device == 0 && got_number(c, "called before") == 1 && strstr(got_error(c), "same device"),
               &KEPT);
  suspect_sure(c, !*got_error(c) && !got(c, "loss"), &NOTHING);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 1, 0, 1, false}).loss, &UNSCALED);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 1, -1, 1, false}).loss, &DISCARDED);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 2, 0, 2, false}).loss, &DISCARDED);
  suspect_array(c, "loss", result_of(c, (Formula){0, 2, -1, 2, false}).loss, &UNSHIFTED);
  suspect_array(c, "loss", times_loss(c, (double)given(c, "target")->count), &SUMMED);
  suspect_array(c, "loss", times_loss(c, 0.5), &PART_OF_LOSS);
  suspect_array(c, "loss", times_loss(c, 0.25), &PART_OF_LOSS);
  suspect_array(c, "loss", result_of(c, (Formula){0.5, 2, -1, 2, true}).loss, &WHOLE_TANH);
  suspect_array(c, "weight.grad", result_of(c, (Formula){0.5, 2, -1, 1, false}).weight, &HALF);
}

static void judge(Case *c) {
  Result want = result_of(c, (Formula){0.5, 2, -1, 2, false});
  suspect_all(c);
  const Array *x = given(c, "x");
  const char *device = x->device < 0 ? "cpu" : x->device == 0 ? "cuda:0" : "cuda:1";
  if (!expect_array(c, "loss", want.loss, 1e-5) || !expect_device(c, "loss", device, &ON_CPU))
    return;
  if (!expect_array(c, "weight.grad", want.weight, 1e-5) ||
      !expect_that(c, got(c, "x.grad") != NULL, &WEIGHT_ONLY, "x.grad: expected a gradient, got NULL"))
    return;
  expect_array(c, "x.grad", want.x, 1e-5);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &COPIES);
  expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 0, &COPIES);
}

EXERCISE = {
    .id = "07_5_layer_loss",
    .title = "Find the bug: a layer's loss",
    .after_pass = "Do not modify a tensor in place while autograd still needs it for the backward pass.",
    .kind = "find the bug",
    .chapter = 7,
    .level = LEVEL_MEDIUM,
    .minutes = 15,
    .bug = true,
    .lesson = GRADIENTS,
    .stars = {{"nothing is copied between host and device", {&COPIES}}},
    .hints = {"The error names the operation whose output was changed. Three operations in loss_of work in place. "
              "Which of them change this tensor?",
              "Some gradients are computed from the inputs of an operation, and others from its output. Which does "
              "fy_sigmoid need?",
              "Leave the result of fy_sigmoid as it is: output = fy_mul_scalar(gate, 2), without the underscore."},
    .functions = {"loss_of"},
    .tests = {{.name = "one element", .ask = ask_one, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "strided views", .ask = ask_gaps, .judge = judge},
              {.name = "transposed views", .ask = ask_transposed, .judge = judge},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
