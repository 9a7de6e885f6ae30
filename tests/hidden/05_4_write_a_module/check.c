// SPDX-License-Identifier: MIT
// Exercise 5.4: a module with a parameter, a buffer and a child, each registered as what it is.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake PLAIN_BUFFER = {
    "buffer not registered",
    "The module does not move or save a plain struct field. Register `mean` with fy_register_buffer.",
    "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake PLAIN_PARAMETER = {
    "parameter not registered",
    "An optimizer does not get a plain struct field. Register `scale` with fy_register_parameter.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake PLAIN_CHILD = {
    "child module not registered",
    "The module does not move or save a plain struct field. Register `fc` with fy_register_module.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake LEARNED_MEAN = {"buffer registered as a parameter",
                                     "An optimizer would change `mean`. Use fy_register_buffer.",
                                     "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake FIXED_SCALE = {"parameter registered as a buffer",
                                    "Buffers have no gradient. Use fy_register_parameter for `scale`.",
                                    "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake FIRST_VALUES = {"wrong initial values", "Initialize scale with ones and mean with zeros.",
                                     "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake NO_SCALE = {"scale not used", "Multiply by m->scale in the forward function.",
                                 "docs/05_model_moves.md#define-a-module"};
static const Mistake NO_MEAN = {"mean not used", "Subtract m->mean in the forward function.",
                                "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake SCALED_FIRST = {"scaled before the mean is subtracted",
                                     "Subtract the mean first, then multiply: (x - mean) * scale.",
                                     "docs/05_model_moves.md#define-a-module"};
static const Mistake DETACHED = {
    "scale detached",
    "Autograd does not know that the output depends on `scale`. Use m->scale itself, without fy_detach or fy_no_grad.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake OTHER_NAME = {
    "wrong name in the state dict",
    "Register the members under the names scale, mean and fc. A state dict uses these names as keys.",
    "docs/05_model_moves.md#check-the-device-of-every-parameter"};
static const Mistake OTHER_SIZE = {
    "wrong parameter shape",
    "scale and mean have in_features elements, and fc is fy_nn_linear(in_features, out_features).",
    "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake NO_INPUT = {"input detached", "Earlier layers need the gradient of x. Do not detach it.",
                                 "docs/05_model_moves.md#training-steps"};
static const Mistake NO_LAYER = {
    "output detached",
    "Autograd does not know that the output depends on fc. Do not use fy_no_grad or fy_detach in the forward function.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake LEARNS = {"buffer with requires_grad",
                               "The mean is not learned. Register a tensor that requires no gradient.",
                               "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake LAST_MADE = {
    "tensors shared between modules",
    "Every module needs its own tensors. Use `self` in the forward function, not a static or global variable.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake TRANSFER = {"transfer in the forward pass",
                                 "Registered tensors move with the module. Use them directly, without copying them.",
                                 "docs/07_pitfalls.md#keep-data-on-the-device"};

// ---- asking ------------------------------------------------------------------------------------------------------

static void ask(Case *c, const char *device, int64_t batch, bool loaded, Give how) {
  int64_t in = draw_int(c, 10, 16), out = draw_odd(c, 17, 25);
  how.device = device;
  give_text(c, "device", device);
  give_number(c, "in_features", (double)in);
  give_number(c, "out_features", (double)out);
  give_number(c, "loaded", loaded);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(batch, in), -4, 4), how);
  give_array(c, "gradient", draw_array(c, FY_FLOAT32, shape(batch, out), -1, 1), (Give){.device = device});
  give_array(c, "scale", draw_array(c, FY_FLOAT32, shape(in), 2, 4), (Give){0});
  give_array(c, "mean", draw_array(c, FY_FLOAT32, shape(in), 5, 9), (Give){0});
  give_array(c, "fc.weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), (Give){0});
  give_array(c, "fc.bias", draw_array(c, FY_FLOAT32, shape(out), -4, 4), (Give){0});
}

static void ask_data(Case *c) {
  ask(c, "cpu", draw_odd(c, 3, 9), false, (Give){.requires_grad = false});
}
static void ask_cpu(Case *c) {
  ask(c, "cpu", draw_odd(c, 3, 9), false, (Give){.requires_grad = true});
}
static void ask_gpu(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 3, 9), false, (Give){.requires_grad = true});
}
static void ask_second(Case *c) {
  ask(c, "cuda:1", draw_odd(c, 3, 9), false, (Give){.requires_grad = true});
}
static void ask_gaps(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 31, 49), false, (Give){.strided = true, .requires_grad = true});
}
static void ask_loaded(Case *c) {
  ask(c, "cuda:0", draw_odd(c, 3, 9), true, (Give){.requires_grad = true});
}
static void ask_no_rows(Case *c) {
  ask(c, "cuda:0", 0, false, (Give){.requires_grad = true});
}

// ---- judging -----------------------------------------------------------------------------------------------------

typedef enum Way { RIGHT, WITHOUT_SCALE, WITHOUT_MEAN, SCALE_FIRST } Way;

static Array *output_of(Case *c, Way way) {
  const Array *x = given(c, "x"), *scale = given(c, "scale"), *mean = given(c, "mean");
  const Array *weight = given(c, "fc.weight"), *bias = given(c, "fc.bias");
  int64_t batch = x->shape.size[0], in = x->shape.size[1], out = weight->shape.size[0];
  Array *y = new_array(c, FY_FLOAT32, shape(batch, out));
  for (int64_t i = 0; i < y->count; i++) {
    double sum = bias->f32[i % out];
    for (int64_t k = 0; k < in; k++) {
      double s = way == WITHOUT_SCALE ? 1 : scale->f32[k], m = way == WITHOUT_MEAN ? 0 : mean->f32[k];
      double value = x->f32[i / out * in + k];
      sum += (way == SCALE_FIRST ? value * s - m : (value - m) * s) * weight->f32[i % out * in + k];
    }
    y->f32[i] = (float)sum;
  }
  return y;
}

// d output / d scale[k], weighted by the gradient: the sum over rows of (x - mean) * (gradient @ weight).
static Array *scale_gradient(Case *c) {
  const Array *x = given(c, "x"), *mean = given(c, "mean"), *weight = given(c, "fc.weight"), *g = given(c, "gradient");
  int64_t batch = x->shape.size[0], in = x->shape.size[1], out = weight->shape.size[0];
  Array *gradient = new_array(c, FY_FLOAT32, shape(in));
  for (int64_t k = 0; k < in; k++) {
    double sum = 0;
    for (int64_t i = 0; i < batch; i++)
      for (int64_t j = 0; j < out; j++)
        sum += ((double)x->f32[i * in + k] - mean->f32[k]) * g->f32[i * out + j] * weight->f32[j * in + k];
    gradient->f32[k] = (float)sum;
  }
  return gradient;
}

// d output / d x, weighted by the gradient: (gradient @ weight) * scale.
static Array *input_gradient(Case *c) {
  const Array *x = given(c, "x"), *scale = given(c, "scale"), *weight = given(c, "fc.weight"),
              *g = given(c, "gradient");
  int64_t in = x->shape.size[1], out = weight->shape.size[0];
  Array *gradient = new_array(c, FY_FLOAT32, x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    double sum = 0;
    for (int64_t j = 0; j < out; j++)
      sum += (double)g->f32[i / in * out + j] * weight->f32[j * in + i % in];
    gradient->f32[i] = (float)(sum * scale->f32[i % in]);
  }
  return gradient;
}

// d output / d fc.weight: gradient.T @ ((x - mean) * scale).
static Array *weight_gradient(Case *c) {
  const Array *x = given(c, "x"), *scale = given(c, "scale"), *mean = given(c, "mean"), *g = given(c, "gradient");
  int64_t batch = x->shape.size[0], in = x->shape.size[1], out = g->shape.size[1];
  Array *gradient = new_array(c, FY_FLOAT32, shape(out, in));
  for (int64_t i = 0; i < gradient->count; i++) {
    double sum = 0;
    for (int64_t n = 0; n < batch; n++)
      sum += ((double)x->f32[n * in + i % in] - mean->f32[i % in]) * scale->f32[i % in] * g->f32[n * out + i / in];
    gradient->f32[i] = (float)sum;
  }
  return gradient;
}

static bool has(const Case *c, const char *list, const char *name) {
  char text[600] = " ", wanted[64] = " ";
  strncat(text, got_text(c, list), 512);
  strcat(text, " ");
  strncat(wanted, name, 50);
  strcat(wanted, " ");
  return strstr(text, wanted) != NULL;
}

static int names_in(const Case *c, const char *list) {
  int names = *got_text(c, list) ? 1 : 0;
  for (const char *at = got_text(c, list); *at; at++)
    names += *at == ' ';
  return names;
}

static bool all_named(const Case *c) {
  return has(c, "state", "scale") && has(c, "state", "mean") && has(c, "state", "fc.weight") &&
         has(c, "state", "fc.bias");
}

static bool was_made(const Case *c) {
  return *got_text(c, "made") != '\0';
}

static bool is_near(const Array *a, const Array *want) {
  int64_t near = 0;
  if (!a || a->dtype != FY_FLOAT32 || !same_shape(a->shape, want->shape))
    return false;
  for (int64_t i = 0; i < want->count; i++)
    near += fabs((double)a->f32[i] - want->f32[i]) <= 1e-4 * fmax(1, fabs((double)want->f32[i]));
  return near == want->count;
}

static void suspects(Case *c) {
  bool made = was_made(c);
  suspect_that(c, made && has(c, "parameters", "mean"), &LEARNED_MEAN);
  suspect_that(c, made && has(c, "buffers", "scale"), &FIXED_SCALE);
  suspect_that(c, made && names_in(c, "state") == 4 && !all_named(c), &OTHER_NAME);
  suspect_that(c, made && !has(c, "state", "mean"), &PLAIN_BUFFER);
  suspect_that(c, made && !has(c, "state", "scale"), &PLAIN_PARAMETER);
  suspect_that(c, made && !has(c, "state", "fc.weight"), &PLAIN_CHILD);
  suspect_array(c, "output", output_of(c, WITHOUT_SCALE), &NO_SCALE);
  suspect_array(c, "output", output_of(c, WITHOUT_MEAN), &NO_MEAN);
  suspect_array(c, "output", output_of(c, SCALE_FIRST), &SCALED_FIRST);
  Array *before = output_of(c, RIGHT);
  suspect_that(c, is_near(got(c, "output before"), before) && got(c, "output") && !is_near(got(c, "output"), before),
               &LAST_MADE);
  bool ran = made && got(c, "output"), weight = got(c, "fc.weight.grad") != NULL;
  suspect_that(c, made && strstr(got_error(c), "does not require grad"), &NO_LAYER);
  suspect_that(c, ran && all_named(c) && weight && !got(c, "scale.grad"), &DETACHED);
}

static bool judge_registered(Case *c) {
  if (!expect_that(c, was_made(c), NULL, "centered_linear: expected a module, got NULL"))
    return false;
  return expect_text(c, "parameters", "scale fc.weight fc.bias") && expect_text(c, "buffers", "mean") &&
         expect_text(c, "state", "scale mean fc.weight fc.bias");
}

static bool all_are(const Array *a, float value) {
  int64_t equal = 0;
  for (int64_t i = 0; a && a->dtype == FY_FLOAT32 && i < a->count; i++)
    equal += a->f32[i] == value;
  return a && equal == a->count;
}

static void judge(Case *c) {
  static const char *const moved[] = {"moved scale", "moved mean", "moved fc.weight", "moved fc.bias"};
  suspects(c);
  if (!judge_registered(c))
    return;
  if (!expect_that(c, all_are(got(c, "first scale"), 1) && all_are(got(c, "first mean"), 0), &FIRST_VALUES,
                   "a new module: expected a scale of ones and a mean of zeros"))
    return;
  if (!expect_that(c, all_are(got(c, "second scale"), 1) && all_are(got(c, "second mean"), 0), &LAST_MADE,
                   "a second module: expected a scale of ones and a mean of zeros"))
    return;
  if (!expect_that(c, !*got_text(c, "of another size"), &OTHER_SIZE, "%.40s: wrong shape",
                   got_text(c, "of another size")))
    return;
  if (!expect_array(c, "output", output_of(c, RIGHT), 1e-4))
    return;
  expect_device(c, "output", given_text(c, "device"), NULL);
  for (int i = 0; i < 4; i++)
    expect_device(c, moved[i], given_text(c, "device"), NULL);
  expect_that(c, got_number(c, "mean learns") == 0, &LEARNS, "mean: expected to require no gradient");
  expect_array(c, "scale.grad", scale_gradient(c), 1e-3);
  if (expect_that(c, got(c, "fc.weight.grad") != NULL, &NO_LAYER, "fc.weight.grad: expected a gradient, got NULL"))
    expect_array(c, "fc.weight.grad", weight_gradient(c), 1e-3);
  const bool wanted = given(c, "x")->flags & ARRAY_REQUIRES_GRAD;
  if (wanted && expect_that(c, got(c, "x.grad") != NULL, &NO_INPUT, "x.grad: expected a gradient, got NULL"))
    expect_array(c, "x.grad", input_gradient(c), 1e-3);
  expect_at_most(c, "copies in the forward pass",
                 counts(c)->host_to_device + counts(c)->device_to_host + counts(c)->device_to_device, 0, &TRANSFER);
}

EXERCISE = {
    .id = "05_4_write_a_module",
    .title = "Write a module",
    .after_pass = "A module moves and saves its registered tensors, and an optimizer trains the registered parameters. "
                  "Plain pointers get none of this.",
    .kind = "write",
    .chapter = 5,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = "docs/05_model_moves.md#parameters-and-buffers",
    .stars = {{"no transfer in the forward pass", {&TRANSFER}}},
    .hints = {"The forward function casts self to your struct and uses its fields. fy_module_new takes the struct and "
              "the function.",
              "fy_register_parameter(m, scale, tensor), fy_register_buffer(m, mean, tensor) and fy_register_module(m, "
              "fc, layer) each store a pointer in a field and register the field's name.",
              "forward: fy_sub(x, m->mean), then fy_mul with m->scale, then fy_forward(m->fc, ...). Broadcasting "
              "applies mean and scale to every row."},
    .functions = {"centered_linear"},
    .tests = {{"input without a gradient", ask_data, .judge = judge},
              {"CPU", ask_cpu, .judge = judge},
              {"GPU", ask_gpu, .judge = judge},
              {"second GPU", ask_second, .judge = judge, .devices = 2},
              {"strided input", ask_gaps, .judge = judge},
              {"loaded state dict", ask_loaded, .judge = judge},
              {"no rows", ask_no_rows, .judge = judge},
              {"without CUDA", ask_cpu, .judge = judge, .no_cuda = true}},
};
