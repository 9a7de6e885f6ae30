// SPDX-License-Identifier: MIT
// Exercise 5.2: forward, backward, update, clear, twice over.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake ACCUMULATED = {
    "gradients not cleared",
    "backward adds to .grad. Without clearing it the second step goes by the gradients of both.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake RECORDED = {"update outside of no_grad",
                                 "A parameter that requires a gradient may not be changed in place while autograd "
                                 "records. Update in fy_no_grad { }.",
                                 "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake UNCHANGED = {"parameters unchanged",
                                  "After two steps weight and bias are what they were. fy_sub makes a new tensor, and "
                                  "giving that to the local variable "
                                  "changes nothing for the caller; fy_sub_ changes the tensor.",
                                  "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake UPHILL = {"uphill", "The gradient points to where the loss grows. Subtract it.",
                               "docs/05_model_moves.md#training-steps"};
static const Mistake SUMMED = {"the sum instead of the mean",
                               "F.mse_loss takes the mean over all N * out elements; its sum has larger gradients.",
                               "docs/05_model_moves.md#training-steps"};
static const Mistake PER_ROW = {
    "the mean over the rows alone",
    "The squared errors were divided by the number of rows. F.mse_loss takes the mean over all "
    "N * out elements.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake ONLY_WEIGHT = {"bias not trained", "The bias has a gradient too, and learns as the weight does.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake ALL_OUTPUTS = {
    "the bias by the sum over all outputs",
    "Each output's bias has a gradient of its own: the sum over the samples, of that output's column, with one sample "
    "too.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake NO_RATE = {"learning rate left out", "The step is lr times the gradient, not the whole of it.",
                                "docs/05_model_moves.md#training-steps"};
static const Mistake NO_GRAPH = {
    "the graph cut off",
    "The loss does not depend on weight and bias as far as autograd knows: something in the "
    "forward pass was detached, in fy_no_grad, or told to require no gradient.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake BY_OPTIMIZER = {"an optimizer's step",
                                     "The update was left to an optimizer of the library. Here it is to be written: "
                                     "for each parameter, -lr times its gradient.",
                                     "docs/05_model_moves.md#training-steps"};
static const Mistake HALVED = {
    "half of the gradient",
    "The derivative of error * error is 2 * error. backward computes it; by hand the 2 is easily "
    "lost.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake KEPT_GRAPH = {"a loss that is not the step's",
                                   "The loss that is returned is to be the one before the update, of this step.",
                                   "docs/05_model_moves.md#training-steps"};
static const Mistake CLEARED_EARLY = {"an update without a gradient",
                                      "fy_grad returned NULL: the gradient had been cleared before the update, or the "
                                      "loss does not depend on the parameter.",
                                      "docs/05_model_moves.md#training-steps"};
static const Mistake WAITED = {"waited in the step",
                               "A value was fetched from the device in the step, so host and device waited for one "
                               "another. Return the loss as the "
                               "tensor that it is.",
                               "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake CARRIED = {"a tensor made on the host",
                                "Nothing was fetched, and something crossed to the device in every step. A number "
                                "needs no tensor, and what does is made there.",
                                "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake ON_HOST = {
    "updated on the host", "Parameters or gradients crossed between host and device. The update is a kernel there too.",
    "docs/07_pitfalls.md#to-and-fro-against-staying"};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask(Case *c, const char *device, int64_t batch, int64_t in, int64_t out, bool gaps) {
  Give plain = {.device = device}, parameter = {.device = device, .requires_grad = true};
  Give input = {.device = device, .strided = gaps};
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), parameter);
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), parameter);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(batch, in), -1, 1), input);
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(batch, out), 2, 6), plain);
  give_number(c, "lr", (double)draw_int(c, 4, 12) / 16);
}

static void ask_cpu(Case *c) {
  ask(c, "cpu", draw_odd(c, 5, 9), draw_int(c, 10, 16), 3, false);
}
static void ask_gpu(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 5, 9), draw_int(c, 10, 16), 3, false);
}
static void ask_second(Case *c) {
  ask(c, "cuda:1", draw_odd(c, 5, 9), draw_int(c, 10, 16), 3, false);
}
static void ask_gaps(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 11, 15), draw_int(c, 4, 8), 5, true);
}
static void ask_large(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 201, 299), draw_odd(c, 31, 49), 10, false);
}
static void ask_one(Case *c) {
  ask(c, "cuda:0", 1, draw_odd(c, 5, 9), 1, false);
}

static void ask_outputs(Case *c) {
  ask(c, "cuda:0", 1, draw_odd(c, 5, 9), 3, false);
}

// ---- two steps in plain loops ----------------------------------------------------------------------------------------

typedef struct Variant {
  double weight_rate, bias_rate;                 // of lr: 1 as it should be
  double factor;                                 // of loss and gradients
  bool accumulate, accumulate_bias, all_outputs; // the last: bias by the sum of all its gradients
} Variant;

typedef struct Trained {
  Array *weight, *bias, *losses[2];
} Trained;

// Adds the gradients to those that are there and returns the loss.
static double gradients(Case *c, const Trained *t, double factor, double *weight_grad, double *bias_grad) {
  const Array *x = given(c, "x"), *target = given(c, "target");
  int64_t in = x->shape.size[1], out = target->shape.size[1];
  double loss = 0, scale = factor / (double)target->count;
  for (int64_t i = 0; i < target->count; i++) {
    const float *row = x->f32 + i / out * in, *w = t->weight->f32 + i % out * in;
    double error = (double)t->bias->f32[i % out] - target->f32[i];
    for (int64_t k = 0; k < in; k++)
      error += (double)row[k] * w[k];
    loss += scale * error * error;
    bias_grad[i % out] += 2 * scale * error;
    for (int64_t k = 0; k < in; k++)
      weight_grad[i % out * in + k] += 2 * scale * error * row[k];
  }
  return loss;
}

static Trained trained(Case *c, Variant v) {
  Trained t = {.weight = array_cast(c, given(c, "weight"), FY_FLOAT32),
               .bias = array_cast(c, given(c, "bias"), FY_FLOAT32)};
  double *weight_grad = new_array(c, FY_FLOAT64, t.weight->shape)->f64;
  double *bias_grad = new_array(c, FY_FLOAT64, t.bias->shape)->f64;
  double lr = given_number(c, "lr");
  for (int step = 0; step < 2; step++) {
    if (!v.accumulate) {
      memset(weight_grad, 0, (size_t)t.weight->count * sizeof(double));
      if (!v.accumulate_bias)
        memset(bias_grad, 0, (size_t)t.bias->count * sizeof(double));
    }
    t.losses[step] = new_array(c, FY_FLOAT32, (Shape){.rank = 0});
    t.losses[step]->f32[0] = (float)gradients(c, &t, v.factor, weight_grad, bias_grad);
    double sum = 0;
    for (int64_t i = 0; i < t.bias->count; i++)
      sum += bias_grad[i];
    for (int64_t i = 0; i < t.bias->count && v.all_outputs; i++)
      bias_grad[i] = sum;
    for (int64_t i = 0; i < t.weight->count; i++)
      t.weight->f32[i] -= (float)(lr * v.weight_rate * weight_grad[i]);
    for (int64_t i = 0; i < t.bias->count; i++)
      t.bias->f32[i] -= (float)(lr * v.bias_rate * bias_grad[i]);
  }
  return t;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// Is the first loss that came back what the second has to be?
static bool losses_shifted(Case *c) {
  const Array *first = got_shaped(c, "first loss", (Shape){.rank = 0});
  Trained want = trained(c, (Variant){1, 1, 1, .accumulate = false});
  double one = want.losses[0]->f32[0], two = want.losses[1]->f32[0];
  return first && first->dtype == FY_FLOAT32 && fabs(one - two) > 1e-3 &&
         fabs(first->f32[0] - two) < 1e-5 * fmax(1, two);
}

static void suspects(Case *c) {
  double lr = given_number(c, "lr"), elements = (double)given(c, "target")->count;
  if (got(c, "first loss")) // a stub changes nothing either
    suspect_array(c, "weight", given(c, "weight"), &UNCHANGED);
  suspect_array(c, "weight", trained(c, (Variant){1, 0, 1, .accumulate = false}).weight, &ONLY_WEIGHT);
  suspect_array(c, "weight", trained(c, (Variant){1, 1, 1, .accumulate = true}).weight, &ACCUMULATED);
  suspect_array(c, "bias",
                trained(c, (Variant){.weight_rate = 1, .bias_rate = 1, .factor = 1, .accumulate_bias = true}).bias,
                &ACCUMULATED);
  const double outputs = (double)given(c, "target")->shape.size[1];
  if (outputs > 1) {
    suspect_array(c, "weight",
                  trained(c, (Variant){.weight_rate = 1, .bias_rate = 1, .factor = 1, .all_outputs = true}).weight,
                  &ALL_OUTPUTS);
    suspect_array(c, "first loss", trained(c, (Variant){1, 1, outputs, .accumulate = false}).losses[0], &PER_ROW);
    suspect_array(c, "weight", trained(c, (Variant){outputs, outputs, 1, .accumulate = false}).weight, &PER_ROW);
  }
  suspect_array(c, "weight", trained(c, (Variant){-1, -1, 1, .accumulate = false}).weight, &UPHILL);
  suspect_array(c, "weight", trained(c, (Variant){1 / lr, 1 / lr, 1, .accumulate = false}).weight, &NO_RATE);
  suspect_array(c, "first loss", trained(c, (Variant){1, 1, elements, .accumulate = false}).losses[0], &SUMMED);
  suspect_array(c, "weight", trained(c, (Variant){0.5, 0.5, 1, .accumulate = false}).weight, &HALVED);
  suspect_that(c, losses_shifted(c), &KEPT_GRAPH);
  suspect_that(c, got_number(c, "recording after the first") == 0, &GRAD_LEFT);
  suspect_error(c, "is being used in an in-place operation", &RECORDED);
  suspect_error(c, "does not require grad", &NO_GRAPH);
  suspect_error(c, "NULL", &CLEARED_EARLY);
}

static bool is_cleared(const Array *gradient) {
  int64_t nonzero = 0;
  for (int64_t i = 0; gradient && i < gradient->count; i++)
    nonzero += gradient->f32[i] != 0;
  return nonzero == 0;
}

static void judge(Case *c) {
  const char *device = given(c, "x")->device < 0 ? "cpu" : given(c, "x")->device == 0 ? "cuda:0" : "cuda:1";
  Trained want = trained(c, (Variant){1, 1, 1, .accumulate = false});
  suspects(c);
  if (!expect_array(c, "first loss", want.losses[0], 1e-5) || !expect_array(c, "weight", want.weight, 1e-5) ||
      !expect_array(c, "bias", want.bias, 1e-5) || !expect_array(c, "second loss", want.losses[1], 1e-5))
    return;
  expect_exactly(c, "steps of an optimizer", trace_count(c, TRACE_STEP, -1), 0, &BY_OPTIMIZER);
  expect_device(c, "weight", device, &ON_HOST);
  expect_device(c, "first loss", device, &WAITED);
  expect_that(c, is_cleared(got(c, "weight.grad")) && is_cleared(got(c, "bias.grad")), &ACCUMULATED,
              "after the second step weight.grad or bias.grad still holds a gradient");
  expect_that(c, got(c, "weight")->flags & got(c, "bias")->flags & ARRAY_REQUIRES_GRAD, &NO_GRAPH,
              "weight and bias: expected to require gradients still");
  const Mistake *crossed = !counts(c)->host_to_device ? &WAITED : counts(c)->device_to_host ? &ON_HOST : &CARRIED;
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, crossed);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, crossed);
  expect_at_most(c, "synchronisations", counts(c)->synchronizations, 0, crossed);
}

EXERCISE = {
    .id = "05_2_training_step",
    .title = "A training step",
    .after_pass = "A step is forward, backward, and a change of the parameters that no graph records.",
    .kind = "write",
    .chapter = 5,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/05_model_moves.md#training-steps",
    .hints = {"fy_linear(x, weight, bias) and fy_mse_loss(output, target) are the forward pass; fy_backward(loss) the "
              "other.",
              "fy_grad(weight) is the gradient. fy_sub_ changes its first argument in place; fy_mul_scalar multiplies "
              "by lr.",
              "In-place changes of a parameter go into fy_no_grad { ... }, and fy_set_grad(weight, NULL) clears."},
    .functions = {"training_step"},
    .tests = {{"on the CPU", ask_cpu, .judge = judge, .crash = &CLEARED_EARLY},
              {"on a GPU", ask_gpu, .judge = judge, .crash = &CLEARED_EARLY},
              {"on the second GPU", ask_second, .judge = judge, .devices = 2, .crash = &CLEARED_EARLY},
              {"an input with gaps", ask_gaps, .judge = judge, .crash = &CLEARED_EARLY},
              {"large and odd", ask_large, .judge = judge, .crash = &CLEARED_EARLY},
              {"one sample, several outputs", ask_outputs, .judge = judge, .crash = &CLEARED_EARLY},
              {"one row, one output", ask_one, .judge = judge, .crash = &CLEARED_EARLY},
              {"without CUDA", ask_cpu, .judge = judge, .no_cuda = true, .crash = &CLEARED_EARLY}},
};
