// SPDX-License-Identifier: MIT
// Exercise 5.5: constants registered as parameters. The driver sends the lists of names before it runs the module:
// with plain fields the forward pass raises an error.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake NOT_REGISTERED = {
    "buffer not registered",
    "The module does not move or save a plain struct field. Register mean and std with fy_register_buffer.",
    "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake ONE_LEFT = {"one buffer not registered", "Register both mean and std.",
                                 "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake PARAMETER = {"buffer registered as a parameter",
                                  "Optimizers change every parameter. Use fy_register_buffer for mean and std.",
                                  "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake OTHER_NAME = {
    "wrong name in the state dict",
    "Register the tensors under the names mean and std. A state dict uses these names as keys.",
    "docs/05_model_moves.md#check-the-device-of-every-parameter"};
static const Mistake ORIGINAL = {"unregistered tensor in the forward pass",
                                 "The registered tensors moved with the module, but the forward function uses "
                                 "different tensors. Use the registered ones.",
                                 "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake GAIN_LOST = {"gain not a parameter", "The gain must be trained. Use fy_register_parameter.",
                                  "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake NOT_LOADED = {"precomputed values",
                                   "Loading a state dict changes mean and std, but the result still depends on the old "
                                   "values. Use mean and std in every forward pass.",
                                   "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake ASKED = {"host synchronization in the forward pass",
                              "Reading a value makes the host wait for the device. Leave the values on the device.",
                              "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"};
static const Mistake BROUGHT = {
    "transfer in the forward pass",
    "The forward pass copied a tensor to the device. Register this tensor, so that it moves once, with the module.",
    "docs/05_model_moves.md#parameters-and-buffers"};

static const Mistake LAST_MADE = {
    "tensors shared between modules",
    "Every module needs its own tensors. Use `self` in the forward function, not a static or global variable.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake RECIPROCAL = {"1 / std stored as std",
                                   "The state dict must contain the standard deviation under the name std.",
                                   "docs/05_model_moves.md#check-the-device-of-every-parameter"};
static const Mistake NO_GRAPH = {"gain detached",
                                 "Autograd does not know that the output depends on the gain. Do not use fy_no_grad or "
                                 "fy_detach in the forward function.",
                                 "docs/05_model_moves.md#training-steps"};
static const Mistake NO_INPUT = {"input detached", "Earlier layers need the gradient of x. Do not detach it.",
                                 "docs/05_model_moves.md#training-steps"};
static const Mistake LEARNS = {"buffer with requires_grad",
                               "mean and std are not learned. Register tensors that require no gradient.",
                               "docs/05_model_moves.md#parameters-and-buffers"};
static const Mistake NEVER_FREED = {"memory leak",
                                    "A registered tensor exists as long as its module. Do not call fy_retain for it.",
                                    "docs/03_tensor_moves.md#tensor-lifetime-and-scopes"};

static void ask_sizes(Case *c, int64_t rows, int64_t features, Give how) {
  how.requires_grad = true;
  give_array(c, "gradient", draw_array(c, FY_FLOAT32, shape(rows, features), -2, 2), (Give){.device = how.device});
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, features), -8, 8), how);
  give_array(c, "gain", draw_array(c, FY_FLOAT32, shape(features), 1, 3), (Give){0});
  give_array(c, "mean", draw_array(c, FY_FLOAT32, shape(features), -2, 2), (Give){0});
  give_array(c, "std", draw_array(c, FY_FLOAT32, shape(features), 2, 5), (Give){0});
  give_array(c, "loaded mean", draw_array(c, FY_FLOAT32, shape(features), 3, 6), (Give){0});
  give_array(c, "loaded std", draw_array(c, FY_FLOAT32, shape(features), 6, 9), (Give){0});
}

static void ask_gpu(Case *c) {
  ask_sizes(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){.device = "cuda:0"});
}
static void ask_cpu(Case *c) {
  ask_sizes(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){0});
}
static void ask_gaps(Case *c) {
  ask_sizes(c, draw_odd(c, 11, 19), draw_odd(c, 3, 9), (Give){.device = "cuda:0", .strided = true});
}
static void ask_large(Case *c) {
  ask_sizes(c, draw_odd(c, 301, 399), draw_odd(c, 101, 149), (Give){.device = "cuda:0"});
}
static void ask_no_rows(Case *c) {
  ask_sizes(c, 0, draw_int(c, 2, 9), (Give){.device = "cuda:0"});
}
static void ask_second(Case *c) {
  ask_sizes(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){.device = "cuda:1"});
}

static Array *scaled(Case *c, const Array *mean, const Array *std) {
  const Array *x = given(c, "x"), *gain = given(c, "gain");
  Array *want = new_array(c, FY_FLOAT32, x->shape);
  int64_t features = x->shape.size[1];
  for (int64_t i = 0; i < x->count; i++) {
    int64_t j = i % features;
    want->f32[i] = gain->f32[j] * ((x->f32[i] - mean->f32[j]) / std->f32[j]);
  }
  return want;
}

// Of x: gradient * gain / std. Of the gain: the sum over rows of gradient * (x - mean) / std.
static Array *gradient_of(Case *c, bool of_gain) {
  const Array *x = given(c, "x"), *gain = given(c, "gain"), *mean = given(c, "mean"), *std = given(c, "std");
  const Array *g = given(c, "gradient");
  int64_t features = x->shape.size[1];
  Array *sums = new_array(c, FY_FLOAT64, of_gain ? shape(features) : x->shape);
  for (int64_t i = 0; i < x->count; i++) {
    int64_t j = i % features;
    double slope = g->f32[i] / (double)std->f32[j];
    sums->f64[of_gain ? j : i] += slope * (of_gain ? (double)x->f32[i] - mean->f32[j] : gain->f32[j]);
  }
  return array_cast(c, sums, FY_FLOAT32);
}

static bool is_near(const Array *a, const Array *want) {
  int64_t near = 0;
  if (!a || a->dtype != FY_FLOAT32 || !same_shape(a->shape, want->shape))
    return false;
  for (int64_t i = 0; i < want->count; i++)
    near += fabs((double)a->f32[i] - want->f32[i]) <= 1e-5 * fmax(1, fabs((double)want->f32[i]));
  return near == want->count;
}

static bool lists(const Case *c, const char *what, const char *name) {
  char names[600], wanted[64];
  snprintf(names, sizeof names, " %.500s ", got_text(c, what));
  snprintf(wanted, sizeof wanted, " %s ", name);
  return strstr(names, wanted) != NULL;
}

// Why mean or std is not among the buffers.
static const Mistake *not_a_buffer(const Case *c) {
  bool any = *got_text(c, "buffers"), one = lists(c, "buffers", "mean") || lists(c, "buffers", "std");
  if (lists(c, "parameters", "mean") || lists(c, "parameters", "std"))
    return &PARAMETER;
  if (one || any)
    return one ? &ONE_LEFT : &OTHER_NAME;
  return &NOT_REGISTERED;
}

static bool expect_buffer(Case *c, const char *name, const char *device) {
  return expect_that(c, lists(c, "buffers", name), not_a_buffer(c), "%s: expected it in the buffers of the module",
                     name) &&
         expect_that(c, lists(c, "state", name), not_a_buffer(c), "%s: expected it in the state dict", name) &&
         expect_array(c, name, given(c, name), 0) && expect_device(c, name, device, NULL);
}

static void suspect_all(Case *c) {
  suspect_error(c, "is used after its scope has ended: it was made at tests/", &GIVEN_UP);
  bool both = lists(c, "buffers", "mean") && lists(c, "buffers", "std"), error = *got_error(c);
  suspect_that(c, error && got_number(c, "made") == 1 && !both, not_a_buffer(c));
  Array *right = scaled(c, given(c, "mean"), given(c, "std"));
  bool was_right = is_near(got(c, "result before"), right);
  suspect_that(c, was_right && got(c, "result") && !is_near(got(c, "result"), right), &LAST_MADE);
  Array *inverse = new_array(c, FY_FLOAT32, given(c, "std")->shape);
  for (int64_t i = 0; i < inverse->count; i++)
    inverse->f32[i] = 1 / given(c, "std")->f32[i];
  suspect_array(c, "std", inverse, &RECIPROCAL);
  suspect_that(c, error && both && strstr(got_error(c), "same device"), &ORIGINAL);
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  const Counts *n = counts(c);
  const char *device = x->device < 0 ? "cpu" : x->device == 0 ? "cuda:0" : "cuda:1";
  suspect_all(c);
  if (!expect_that(c, got_number(c, "made") == 1, NULL, "scaler: expected a module, got NULL") ||
      !expect_buffer(c, "mean", device) || !expect_buffer(c, "std", device))
    return;
  bool trained = strcmp(got_text(c, "parameters"), "gain") == 0;
  if (!expect_that(c, trained, lists(c, "parameters", "gain") ? NULL : &GAIN_LOST,
                   "parameters: expected gain only, got: %.200s", got_text(c, "parameters")))
    return;
  if (!expect_array(c, "result", scaled(c, given(c, "mean"), given(c, "std")), 1e-5) ||
      !expect_device(c, "result", device, NULL))
    return;
  expect_exactly(c, "copies from host to device in the forward pass", n->host_to_device, 0, &BROUGHT);
  expect_exactly(c, "copies from device to host in the forward pass", n->device_to_host, 0, &ASKED);
  expect_that(c, !*got_text(c, "learns"), &LEARNS, "%.40s: expected to require no gradient", got_text(c, "learns"));
  const char *no_gain = "gain.grad: expected a gradient, got NULL";
  if (expect_that(c, got_number(c, "recorded") == 1 && got(c, "gain.grad"), &NO_GRAPH, "%s", no_gain) &&
      expect_array(c, "gain.grad", gradient_of(c, true), 1e-4) &&
      expect_that(c, got(c, "x.grad") != NULL, &NO_INPUT, "x.grad: expected a gradient, got NULL"))
    expect_array(c, "x.grad", gradient_of(c, false), 1e-4);
  suspect_array(c, "result after loading", scaled(c, given(c, "mean"), given(c, "std")), &NOT_LOADED);
  suspect_array(c, "result after loading", scaled(c, given(c, "mean"), given(c, "loaded std")), &NOT_LOADED);
  suspect_array(c, "result after loading", scaled(c, given(c, "loaded mean"), given(c, "std")), &NOT_LOADED);
  if (expect_array(c, "result after loading", scaled(c, given(c, "loaded mean"), given(c, "loaded std")), 1e-5))
    expect_that(c, got_number(c, "still allocated") <= 0, &NEVER_FREED,
                "after the module was freed, %g bytes of its memory are still allocated",
                got_number(c, "still allocated"));
}

EXERCISE = {
    .id = "05_5_scaling_module",
    .title = "Find the bug: a scaling module",
    .after_pass = "If a tensor moves and is saved with its module but is not trained, register it as a buffer, not as "
                  "a parameter.",
    .kind = "find the bug",
    .chapter = 5,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = "docs/05_model_moves.md#parameters-and-buffers",
    .stars = {{"no transfer and no synchronization in the forward pass", {&ASKED, &BROUGHT}}},
    .hints = {"Which tensors does an optimizer change, and where does it get the list of these tensors?",
              "Print the names in fy_parameters(module) and in fy_buffers(module).",
              "mean and std are registered as parameters. Register them with fy_register_buffer. They still move and "
              "are saved with the module."},
    .functions = {"scaler"},
    .tests = {{.name = "GPU", .ask = ask_gpu, .judge = judge},
              {.name = "CPU", .ask = ask_cpu, .judge = judge},
              {.name = "strided view", .ask = ask_gaps, .judge = judge},
              {.name = "large", .ask = ask_large, .judge = judge},
              {.name = "no rows", .ask = ask_no_rows, .judge = judge},
              {.name = "second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
