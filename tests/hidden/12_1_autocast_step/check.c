// SPDX-License-Identifier: MIT
// Exercise 12.1: a training step in float16. The driver's model records the autocast state that it runs in.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ORDER "docs/12_mixed_precision.md#gradient-clipping-and-synchronization"
#define LOOP "docs/12_mixed_precision.md#gradient-scaling"
#define REGION "docs/12_mixed_precision.md#autocast-a-type-for-each-operation"

static const Mistake NOTHING = {"no result returned", "Return the loss.", LOOP};
static const Mistake NO_AUTOCAST = {"no autocast in float16",
                                    "A forward pass ran without autocast in float16. Set .dtype = FY_FLOAT16, because "
                                    "the default on the CPU is bfloat16.",
                                    REGION};
static const Mistake BACKWARD_INSIDE = {
    "backward inside the autocast region",
    "Call fy_backward after the region. Each backward operation runs in the data type of its forward operation anyway.",
    REGION};
static const Mistake NOT_SCALED = {"loss not scaled",
                                   "Call backward on fy_scaler_scale(scaler, loss), not on the loss itself.", LOOP};
static const Mistake TWICE_SCALED = {"scaled loss returned",
                                     "You returned the loss times the scale. Return the loss itself.", LOOP};
static const Mistake STALE = {"gradients not cleared",
                              "backward adds to the gradients of an earlier step. Call fy_zero_grad(optimizer) "
                              "first.",
                              "docs/05_model_moves.md#training-steps"};
static const Mistake NOT_CLIPPED = {
    "gradients not clipped",
    "The step used gradients with a norm above max_norm. Clip them after fy_scaler_unscale_ and before the step.",
    ORDER};
static const Mistake CLIPPED_SCALED = {
    "gradients clipped before unscale_",
    "You clipped gradients that were still scaled, so almost nothing was left of them. Call fy_scaler_unscale_ first.",
    ORDER};
static const Mistake UNSCALED_LATE = {"unscale_ after the step", "Call fy_scaler_unscale_ before fy_scaler_step.",
                                      ORDER};
static const Mistake UNSCALED_TWICE = {"unscale_ called twice", "Call fy_scaler_unscale_ once per step.", ORDER};
static const Mistake NO_UPDATE = {"scaler not updated", "Call fy_scaler_update at the end of each step.", LOOP};
static const Mistake EARLY_UPDATE = {"scaler updated before the step",
                                     "fy_scaler_update resets the scaler's record that the gradients are unscaled, so "
                                     "the step divides them again. Call it after the step.",
                                     ORDER};
static const Mistake STEPPED_ANYWAY = {"optimizer step with infinite gradients",
                                       "After the step with the large target, some parameters are infinite or NaN. Use "
                                       "fy_scaler_step, which skips such a step.",
                                       LOOP};
static const Mistake SCALED_STEP = {
    "optimizer step with scaled gradients",
    "The step used gradients that were still multiplied by the scale. Unscale them first, "
    "or use fy_scaler_step.",
    ORDER};
static const Mistake NO_STEP = {"parameters not updated", "The parameters did not change. Call fy_scaler_step.", LOOP};
static const Mistake NO_GRADIENTS = {"no gradients",
                                     "The scaler found no gradients. Call backward before fy_scaler_unscale_, and "
                                     "clear the gradients only before backward.",
                                     LOOP};
static const Mistake GRAPH = {"result attached to the autograd graph",
                              "The returned loss requires a gradient. Return fy_detach(loss).", LOOP};
static const Mistake HALF_MODEL = {
    "model converted to float16",
    "The gradients are float16. Leave the parameters in float32, because autocast converts them where necessary.",
    "docs/12_mixed_precision.md#training-with-modelhalf"};
static const Mistake WAITED = {"additional host synchronization",
                               "Something other than the scaler's step made the host wait for the device. Read no "
                               "numbers, and create no tensors from host data.",
                               ORDER};
static const Mistake ON_HOST = {"result on the wrong device", "Return the loss on the device of x.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};

// ---- asking ----------------------------------------------------------------------------------------------------------

typedef struct Ask {
  const char *device;
  int64_t steps, rows, in, out;
  double max_norm;
  bool gaps;
} Ask;

static void ask(Case *c, Ask a) {
  Array *y = draw_array(c, FY_FLOAT32, shape(a.steps, a.rows, a.out), 1.5, 3.5);
  int64_t wrong = draw_int(c, 1, a.steps - 2), one = y->count / a.steps;
  y->f32[wrong * one + draw_int(c, 0, one - 1)] = 3e6f; // its gradient, times the scale, is beyond float16
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(a.steps, a.rows, a.in), -1, 1),
             (Give){.device = a.device, .strided = a.gaps});
  give_array(c, "y", y, (Give){.device = a.device});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(a.out, a.in), -1, 1),
             (Give){.device = a.device, .requires_grad = true});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(a.out), -1, 1),
             (Give){.device = a.device, .requires_grad = true});
  give_text(c, "device", a.device);
  give_number(c, "lr", (double)draw_int(c, 6, 10) / 32);
  give_number(c, "scale", 1024);
  give_number(c, "max_norm", a.max_norm);
}

static Ask usual(Case *c, const char *device) {
  return (Ask){device, draw_int(c, 6, 8), draw_odd(c, 5, 9), draw_int(c, 3, 7), 3, draw_real(c, 0.7, 1.1), false};
}
static void ask_cpu(Case *c) {
  ask(c, usual(c, "cpu"));
}
static void ask_gpu(Case *c) {
  ask(c, usual(c, "cuda:0"));
}
static void ask_second(Case *c) {
  ask(c, usual(c, "cuda:1"));
}
static void ask_gaps(Case *c) {
  Ask a = usual(c, "cuda:0");
  a.gaps = true;
  ask(c, a);
}
static void ask_loose(Case *c) {
  Ask a = usual(c, "cuda:0");
  a.max_norm = 1e6;
  ask(c, a);
}
static void ask_zero(Case *c) {
  Ask a = usual(c, "cuda:0");
  a.max_norm = 0;
  ask(c, a);
}
static void ask_large(Case *c) {
  ask(c, (Ask){"cuda:0", 5, draw_odd(c, 61, 99), draw_odd(c, 21, 33), 7, draw_real(c, 0.7, 1.1), false});
}
static void ask_one(Case *c) {
  Ask a = usual(c, "cpu");
  a.rows = a.out = 1;
  ask(c, a);
}

// ---- the training in plain loops -------------------------------------------------------------------------------------

typedef struct Variant {
  bool unclipped, clip_scaled, stale, scaled_step, divided_twice;
} Variant;

typedef struct Trained {
  Array *weight[8], *bias[8];
  double loss[8], scale[8]; // the scale of the step
  double next_scale;
} Trained;

// Returns the loss; adds the gradients.
static double schedule(Case *c, const float *w, const float *b, int64_t step, double *weight_grad, double *bias_grad) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  int64_t rows = x->shape.size[1], in = x->shape.size[2], out = y->shape.size[2];
  double loss = 0, part = 1 / (double)(rows * out);
  for (int64_t i = 0; i < rows * out; i++) {
    const float *row = x->f32 + (step * rows + i / out) * in;
    double error = (double)b[i % out] - y->f32[step * rows * out + i];
    for (int64_t k = 0; k < in; k++)
      error += (double)row[k] * w[i % out * in + k];
    loss += part * error * error;
    bias_grad[i % out] += 2 * part * error;
    for (int64_t k = 0; k < in; k++)
      weight_grad[i % out * in + k] += 2 * part * error * row[k];
  }
  return loss;
}

static bool overflows(const Array *y, int64_t step, int64_t steps) {
  int64_t one = y->count / steps;
  for (int64_t i = step * one; i < (step + 1) * one; i++)
    if (y->f32[i] > 1e5f)
      return true;
  return false;
}

// The factor of a gradient in the step.
static double factor_of(Case *c, Variant v, double norm, double scale) {
  double max_norm = given_number(c, "max_norm"), seen = v.clip_scaled ? norm * scale : norm;
  double clip = v.unclipped || seen <= max_norm ? 1 : max_norm / seen;
  return given_number(c, "lr") * clip * (v.scaled_step ? scale : 1) / (v.divided_twice ? scale : 1);
}

static double norm_of(const double *a, int64_t n, const double *b, int64_t m) {
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += a[i] * a[i];
  for (int64_t i = 0; i < m; i++)
    sum += b[i] * b[i];
  return sqrt(sum);
}

static void descend(Array *p, const double *grad, double factor) {
  for (int64_t i = 0; i < p->count; i++)
    p->f32[i] -= (float)(factor * grad[i]);
}

// The first `count` steps.
static Trained trained(Case *c, Variant v, int64_t count) {
  const Array *y = given(c, "y");
  int64_t steps = y->shape.size[0];
  Array *weight = array_cast(c, given(c, "weight"), FY_FLOAT32), *bias = array_cast(c, given(c, "bias"), FY_FLOAT32);
  double *weight_grad = new_array(c, FY_FLOAT64, weight->shape)->f64;
  double *bias_grad = new_array(c, FY_FLOAT64, bias->shape)->f64, scale = given_number(c, "scale");
  int clean = 0;
  Trained t = {0};
  for (int64_t s = 0; s < count; s++) {
    for (int64_t i = 0; i < weight->count; i++)
      weight_grad[i] = v.stale ? 3 : 0;
    for (int64_t i = 0; i < bias->count; i++)
      bias_grad[i] = v.stale ? 3 : 0;
    t.scale[s] = scale;
    t.loss[s] = schedule(c, weight->f32, bias->f32, s, weight_grad, bias_grad);
    bool skipped = overflows(y, s, steps);
    double factor = factor_of(c, v, norm_of(weight_grad, weight->count, bias_grad, bias->count), scale);
    if (!skipped) {
      descend(weight, weight_grad, factor);
      descend(bias, bias_grad, factor);
    }
    clean = skipped ? 0 : clean + 1;
    scale *= skipped ? 0.5 : clean == 2 ? 2 : 1;
    clean %= 2;
    t.weight[s] = array_cast(c, weight, FY_FLOAT32);
    t.bias[s] = array_cast(c, bias, FY_FLOAT32);
  }
  t.next_scale = scale;
  return t;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static const double NEAR = 4e-3; // float16 has three significant digits

// The first step changed the weights as the variant does, which differs from the right change.
static bool first_change_is(Case *c, const Trained *want, Variant v) {
  const Array *weight = got(c, "weight 0"), *before = given(c, "weight"), *other = trained(c, v, 1).weight[0];
  double size = 0, difference = 0, mistake = 0;
  if (!weight || weight->dtype != FY_FLOAT32 || weight->count != before->count)
    return false;
  for (int64_t i = 0; i < before->count; i++) {
    size = fmax(size, fabs((double)other->f32[i] - before->f32[i]));
    difference = fmax(difference, fabs((double)weight->f32[i] - other->f32[i]));
    mistake = fmax(mistake, fabs((double)want->weight[0]->f32[i] - other->f32[i]));
  }
  return difference <= 0.05 * size && mistake > 0.2 * size;
}

static bool is_unchanged(const Array *a, const Array *before) {
  for (int64_t i = 0; i < before->count; i++)
    if (a->dtype != FY_FLOAT32 || a->count != before->count || a->f32[i] != before->f32[i])
      return false;
  return true;
}

static bool is_not_finite(const Array *a) {
  for (int64_t i = 0; a && a->dtype == FY_FLOAT32 && i < a->count; i++)
    if (!isfinite(a->f32[i]))
      return true;
  return false;
}

static double number_in(const Array *a) {
  return a && a->dtype == FY_FLOAT32 && a->count == 1 ? (double)a->f32[0] : NAN;
}

static void suspects(Case *c, const Trained *want) {
  const Array *first = got(c, "weight 0");
  int64_t steps = given(c, "x")->shape.size[0];
  char last[32];
  snprintf(last, sizeof last, "weight %d", (int)steps - 1);
  suspect_that(c, !*got_error(c) && !got(c, "loss 0"), &NOTHING);
  suspect_sure(c, got_count(c, "calls") > 0 && got_count(c, "in float16") < got_count(c, "calls"), &NO_AUTOCAST);
  suspect_error(c, "_scale is None", &NOT_SCALED);
  suspect_error(c, "No inf checks were recorded", &NO_GRADIENTS);
  suspect_error(c, "FP16 gradients", &HALF_MODEL);
  // In the first step it is the order, in a later one the missing update.
  if (!first) {
    suspect_error(c, "unscale_() has already been called", &UNSCALED_TWICE);
    suspect_error(c, "unscale_() is being called after step()", &UNSCALED_LATE);
  }
  // Clipping the scaled gradients changes the weights in the same way, but does not raise an error.
  suspect_that(c, *got_error(c) && first_change_is(c, want, (Variant){.divided_twice = true}), &EARLY_UPDATE);
  if (first) {
    suspect_error(c, "after step()", &NO_UPDATE);
    suspect_error(c, "since the last update()", &NO_UPDATE);
  }
  double loss = number_in(got(c, "loss 0"));
  suspect_that(c, fabs(loss / want->scale[0] - want->loss[0]) <= NEAR * want->loss[0], &TWICE_SCALED);
  if (!first)
    return;
  suspect_that(c, given_number(c, "max_norm") > 0 && is_unchanged(first, given(c, "weight")), &NO_STEP);
  suspect_that(c, first_change_is(c, want, (Variant){.stale = true}), &STALE);
  suspect_that(c, first_change_is(c, want, (Variant){.clip_scaled = true}), &CLIPPED_SCALED);
  suspect_that(c, first_change_is(c, want, (Variant){.unclipped = true}), &NOT_CLIPPED);
  suspect_that(c, first_change_is(c, want, (Variant){.unclipped = true, .scaled_step = true}), &SCALED_STEP);
  suspect_that(c, is_not_finite(got(c, last)), &STEPPED_ANYWAY);
}

static bool expect_step(Case *c, const Trained *want, int64_t s) {
  char weight[32], bias[32], name[32];
  snprintf(weight, sizeof weight, "weight %d", (int)s);
  snprintf(bias, sizeof bias, "bias %d", (int)s);
  snprintf(name, sizeof name, "loss %d", (int)s);
  const Array *loss = got(c, name);
  if (!expect_device(c, name, given_text(c, "device"), strcmp(got_device(c, name), "cpu") == 0 ? &ON_HOST : NULL))
    return false;
  Array *expected = new_array(c, FY_FLOAT32, (Shape){.rank = 0});
  expected->f32[0] = (float)want->loss[s];
  return expect_array(c, name, expected, NEAR) &&
         expect_that(c, !(loss->flags & ARRAY_REQUIRES_GRAD), &GRAPH, "%s: expected to require no gradient", name) &&
         expect_array(c, weight, want->weight[s], NEAR) && expect_array(c, bias, want->bias[s], NEAR);
}

static void judge(Case *c) {
  Trained want = trained(c, (Variant){0}, given(c, "x")->shape.size[0]);
  int64_t steps = given(c, "x")->shape.size[0];
  suspects(c, &want);
  for (int64_t s = 0; s < steps; s++)
    if (!expect_step(c, &want, s))
      return;
  char scale[32];
  snprintf(scale, sizeof scale, "scale %d", (int)steps - 1);
  expect_number(c, scale, want.next_scale, 0);
  expect_exactly(c, "forward passes in float16", got_count(c, "in float16"), got_count(c, "calls"), &NO_AUTOCAST);
  expect_exactly(c, "backward passes inside the autocast region", got_count(c, "backward inside"), 0, &BACKWARD_INSIDE);
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 0, &WAITED);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, steps - 1, &WAITED);
  expect_at_most(c, "host synchronizations", counts(c)->synchronizations, steps - 1, &WAITED);
}

EXERCISE = {
    .id = "12_1_autocast_step",
    .title = "A training step with autocast",
    .after_pass =
        "Mixed precision: autocast chooses the data types, and loss scaling keeps small gradients from underflowing.",
    .kind = "write",
    .chapter = 12,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .essential = true,
    .lesson = LOOP,
    .stars = {{"backward outside of the autocast region", {&BACKWARD_INSIDE}},
              {"the host waits at most once per step", {&WAITED}}},
    .hints =
        {"Put the forward pass and the loss into fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) { ... }, and "
         "everything else after it. Declare the loss before the block.",
         "fy_backward(fy_scaler_scale(scaler, loss)) gives scaled gradients. Unscale them before "
         "you clip.",
         "The order is: fy_zero_grad, autocast, backward of the scaled loss, fy_scaler_unscale_, fy_clip_grad_norm_, "
         "fy_scaler_step, fy_scaler_update."},
    .functions = {"train_step"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "a non-contiguous input", .ask = ask_gaps, .judge = judge},
              {.name = "a max_norm that is never reached", .ask = ask_loose, .judge = judge},
              {.name = "max_norm 0", .ask = ask_zero, .judge = judge},
              {.name = "a larger model", .ask = ask_large, .judge = judge},
              {.name = "one row, one output", .ask = ask_one, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
