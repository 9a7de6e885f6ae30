// SPDX-License-Identifier: MIT
// Exercise 5.2: forward, backward, update, clear, twice over.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake ACCUMULATED = {"gradients not cleared",
                                    "fy_backward adds to an existing gradient. Call fy_set_grad(weight, NULL) and "
                                    "fy_set_grad(bias, NULL) after the update.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake RECORDED = {
    "in-place update outside of no_grad",
    "While autograd records, you cannot change a parameter in place. Update the parameters inside fy_no_grad { }.",
    "docs/07_pitfalls.md#in-place-operations-and-autograd"};
static const Mistake UNCHANGED = {"parameters not updated in place",
                                  "fy_sub returns a new tensor and leaves the caller's tensor unchanged. Use fy_sub_, "
                                  "which changes its first argument in place.",
                                  "docs/07_pitfalls.md#in-place-operations-and-autograd"};
static const Mistake UPHILL = {"gradient ascent", "The gradient points in the direction of a larger loss. Subtract it.",
                               "docs/05_model_moves.md#training-steps"};
static const Mistake SUMMED = {"sum instead of mean",
                               "F.mse_loss is the mean over all N * out elements. Use the default reduction.",
                               "docs/05_model_moves.md#training-steps"};
static const Mistake PER_ROW = {"mean over the rows only",
                                "Divide the sum of the squared errors by all N * out elements, not by N.",
                                "docs/05_model_moves.md#training-steps"};
static const Mistake ONLY_WEIGHT = {"bias not updated", "Update the bias as well: it has a gradient of its own.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake ALL_OUTPUTS = {"bias gradient summed over the outputs",
                                    "The gradient of a bias element is the sum over the samples, for the element's own "
                                    "output only. If N is 1, fy_squeeze also removes the sample dimension.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake NO_RATE = {"missing learning rate", "Multiply the gradient by lr.",
                                "docs/05_model_moves.md#training-steps"};
static const Mistake NO_GRAPH = {"loss without a graph",
                                 "Autograd does not know that the loss depends on weight and bias. Do not detach them, "
                                 "and do not disable requires_grad.",
                                 "docs/05_model_moves.md#training-steps"};
static const Mistake BY_OPTIMIZER = {"library optimizer used",
                                     "Write the update yourself: subtract lr times the gradient.",
                                     "docs/05_model_moves.md#training-steps"};
static const Mistake HALVED = {"missing factor of 2 in the gradient", "The derivative of error * error is 2 * error.",
                               "docs/05_model_moves.md#training-steps"};
static const Mistake KEPT_GRAPH = {"loss computed after the update",
                                   "Return the loss of the forward pass, before the update.",
                                   "docs/05_model_moves.md#training-steps"};
static const Mistake CLEARED_EARLY = {
    "NULL gradient",
    "fy_grad returns NULL before fy_backward, for a detached tensor, and after the gradient was cleared. Update the "
    "parameters after fy_backward, and clear the gradients after the update.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake WAITED = {"host synchronization in the step",
                               "The host waited for the device, for example for a value. Leave all values on the "
                               "device, and return the loss as a tensor.",
                               "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake CARRIED = {"tensor created on the host",
                                "The step copied a tensor to the device. Multiply by a number with fy_mul_scalar, and "
                                "create tensors directly on the device.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake ON_HOST = {
    "parameters updated on the host",
    "The step copied parameters or gradients to the host. Update the parameters on their device.",
    "docs/07_pitfalls.md#keep-data-on-the-device"};

// ---- asking -----------------------------------------------------------------------------------------------------

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

// ---- two steps in plain loops -----------------------------------------------------------------------------------

typedef struct Variant {
  double weight_rate, bias_rate;                 // factors of lr, 1 if right
  double factor;                                 // of loss and gradients
  bool accumulate, accumulate_bias, all_outputs; // the last: bias by the sum of all its gradients
} Variant;

typedef struct Trained {
  Array *weight, *bias, *losses[2];
} Trained;

// Adds to the gradients and returns the loss.
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

// ---- judging ----------------------------------------------------------------------------------------------------

// Is the first loss the right second one?
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
  expect_device(c, "weight", device, NULL);
  expect_device(c, "first loss", device, NULL);
  expect_that(c, is_cleared(got(c, "weight.grad")) && is_cleared(got(c, "bias.grad")), &ACCUMULATED,
              "weight.grad and bias.grad: expected NULL or zeros after the step");
  expect_that(c, got(c, "weight")->flags & got(c, "bias")->flags & ARRAY_REQUIRES_GRAD, &NO_GRAPH,
              "weight and bias: expected to require gradients");
  const Mistake *crossed = !counts(c)->host_to_device ? &WAITED : counts(c)->device_to_host ? &ON_HOST : &CARRIED;
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, crossed);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, 0, crossed);
  expect_at_most(c, "synchronizations", counts(c)->synchronizations, 0, crossed);
}

EXERCISE = {
    .id = "05_2_training_step",
    .title = "A training step",
    .after_pass = "A training step consists of a forward pass, a backward pass, an in-place update under no_grad, and "
                  "clearing the gradients.",
    .kind = "write",
    .chapter = 5,
    .level = LEVEL_EASY,
    .minutes = 15,
    .essential = true,
    .lesson = "docs/05_model_moves.md#training-steps",
    .stars = {{"no transfer and no synchronization", {&WAITED, &CARRIED, &ON_HOST}}},
    .hints =
        {"The forward pass is fy_linear(x, weight, bias) and fy_mse_loss(output, target). fy_backward(loss) computes "
         "the gradients.",
         "fy_grad(weight) returns the gradient. fy_mul_scalar multiplies it by lr, and fy_sub_ subtracts in place from "
         "its first argument.",
         "Update inside fy_no_grad { ... }, then clear the gradients with fy_set_grad(weight, NULL) and "
         "fy_set_grad(bias, NULL)."},
    .functions = {"training_step"},
    .tests = {{"CPU", ask_cpu, .judge = judge, .crash = &CLEARED_EARLY},
              {"GPU", ask_gpu, .judge = judge, .crash = &CLEARED_EARLY},
              {"second GPU", ask_second, .judge = judge, .crash = &CLEARED_EARLY, .devices = 2},
              {"strided input", ask_gaps, .judge = judge, .crash = &CLEARED_EARLY},
              {"large", ask_large, .judge = judge, .crash = &CLEARED_EARLY},
              {"one sample, several outputs", ask_outputs, .judge = judge, .crash = &CLEARED_EARLY},
              {"one sample, one output", ask_one, .judge = judge, .crash = &CLEARED_EARLY},
              {"without CUDA", ask_cpu, .judge = judge, .crash = &CLEARED_EARLY, .no_cuda = true}},
};
