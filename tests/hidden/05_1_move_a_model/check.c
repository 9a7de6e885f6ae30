// SPDX-License-Identifier: MIT
// Exercise 5.1: a model that is moved, and an input on the same device.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake UNREGISTERED = {
    "layer not registered",
    "fy_module_to and fy_parameters do not see a plain struct field. Register the layer with fy_register_module.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake FEATURES_SWAPPED = {
    "in_features and out_features swapped",
    "fy_nn_linear takes in_features first. Its weight has the shape (out_features, in_features).",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake MODEL_LEFT = {"model not moved",
                                   "The parameters are still on their old device. Call fy_module_to, which moves a "
                                   "model from any device to any other.",
                                   "docs/07_pitfalls.md#the-model-left-on-the-cpu"};
static const Mistake INPUT_LEFT = {"input on another device than the model",
                                   "Create the input on the device: `.device = device`.",
                                   "docs/05_model_moves.md#device-mismatch-errors"};
static const Mistake CARRIED = {"input created on the CPU and moved",
                                "With `.device = device`, fy_arange creates the input directly on the device.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake TIDIED = {"model moved back", "The model must stay on the device after the call.",
                               "docs/05_model_moves.md#check-the-device-of-every-parameter"};
static const Mistake FETCHED = {"output copied to the CPU",
                                "Return the output on the device where the model computed it.",
                                "docs/05_model_moves.md#check-the-device-of-every-parameter"};
static const Mistake FIRST_GPU = {"current device instead of the argument",
                                  "fy_module_cuda and \"cuda\" mean the current device. Use the argument `device`.",
                                  "docs/05_model_moves.md#cuda-and-todevice"};
static const Mistake NEW_MODEL = {"new model instead of the argument",
                                  "Run the model that the caller passes. A new model has different weights.",
                                  "docs/05_model_moves.md#move-a-module-to-a-device"};
static const Mistake ACTIVATION = {"extra activation",
                                   "The model is a single linear layer without an activation function.",
                                   "docs/05_model_moves.md#define-a-module"};
static const Mistake NO_BIAS = {"missing bias",
                                "A linear layer computes x @ weight.T + bias. fy_forward(fc, x) includes the bias.",
                                "docs/05_model_moves.md#define-a-module"};
static const Mistake ONES = {
    "wrong input values",
    "The input contains 0, 1, 2, ... row by row. Create these values with fy_arange, then reshape them with fy_view.",
    "docs/03_tensor_moves.md#creating-tensors-on-the-device"};

static const Mistake ROUNDABOUT = {"transfer through another GPU", "Move the model directly to `device`.",
                                   "docs/05_model_moves.md#cuda-and-todevice"};
static const Mistake THROUGH_HOST = {"transfer through the host",
                                     "fy_module_to copies directly from one GPU to another.",
                                     "docs/05_model_moves.md#cuda-and-todevice"};

static const Mistake ONE_FOR_ALL = {
    "layer shared by all models",
    "All models share a global or static layer. Store the layer in the module, and use `self` in the forward function.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake KEPT = {"cached input",
                             "The second call used the input of the first call. Create a new input in each call.",
                             "docs/05_model_moves.md#define-a-module"};

static void ask(Case *c, const char *device, const char *start, int64_t batch, int64_t in, int64_t out) {
  give_text(c, "device", device);
  give_text(c, "model is on", start);
  give_number(c, "batch", (double)batch);
  give_number(c, "in_features", (double)in);
  give_number(c, "out_features", (double)out);
  // In steps, so that each sum is exact.
  give_array(c, "weight", draw_steps(c, shape(out, in), -1, 1, 0.0625), (Give){0});
  give_array(c, "bias", draw_steps(c, shape(out), 20, 40, 0.5), (Give){0});
}

static void ask_gpu(Case *c) {
  ask(c, "cuda:0", "cpu", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 25));
}
static void ask_there(Case *c) {
  ask(c, "cuda:0", "cuda:0", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 25));
}
static void ask_large(Case *c) {
  ask(c, "cuda:0", "cpu", draw_odd(c, 31, 39), 100, 10);
}
static void ask_one(Case *c) {
  ask(c, "cuda:0", "cpu", 1, draw_odd(c, 11, 15), 3);
}
static void ask_second(Case *c) {
  ask(c, "cuda:1", "cpu", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 25));
}
static void ask_current(Case *c) {
  give_number(c, "current", 1);
  ask_gpu(c);
}
static void ask_back(Case *c) {
  ask(c, "cpu", "cuda:0", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 25));
}
static void ask_between(Case *c) {
  ask(c, "cuda:0", "cuda:1", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 25));
}
static void ask_cpu(Case *c) {
  ask(c, "cpu", "cpu", draw_odd(c, 3, 9), draw_int(c, 10, 16), draw_odd(c, 17, 25));
}

// x @ weight.T + bias for an x that counts down the columns.
static Array *output_of_columns(Case *c) {
  const Array *weight = given(c, "weight"), *bias = given(c, "bias");
  const int64_t batch = (int64_t)given_number(c, "batch"), out = weight->shape.size[0], in = weight->shape.size[1];
  Array *y = new_array(c, FY_FLOAT32, shape(batch, out));
  for (int64_t i = 0; i < y->count; i++) {
    double sum = bias->f32[i % out];
    for (int64_t k = 0; k < in; k++)
      sum += (double)(k * batch + i / out) * weight->f32[i % out * in + k];
    y->f32[i] = (float)sum;
  }
  return y;
}

// x @ weight.T + bias for an x that counts, or is all ones.
static Array *output_of(Case *c, bool counting, bool with_bias, bool relu) {
  const Array *weight = given(c, "weight"), *bias = given(c, "bias");
  int64_t batch = (int64_t)given_number(c, "batch"), out = weight->shape.size[0], in = weight->shape.size[1];
  Array *y = new_array(c, FY_FLOAT32, shape(batch, out));
  for (int64_t i = 0; i < batch; i++)
    for (int64_t j = 0; j < out; j++) {
      double sum = with_bias ? bias->f32[j] : 0;
      for (int64_t k = 0; k < in; k++)
        sum += (counting ? (double)(i * in + k) : 1) * weight->f32[j * in + k];
      y->f32[i * out + j] = relu && sum < 0 ? 0 : (float)sum;
    }
  return y;
}

static bool judge_model(Case *c) {
  const Array *weight = given(c, "weight"), *made = got(c, "weight");
  int64_t count = got_count(c, "parameters");
  if (!expect_exactly(c, "parameters of the model", count, 2,
                      count == 0   ? &UNREGISTERED
                      : count == 1 ? &NO_BIAS
                                   : NULL))
    return false;
  if (!expect_text(c, "weight", "fc.weight"))
    return false;
  if (!expect_that(c, made && made->shape.rank == 2 && made->shape.size[1] == weight->shape.size[1],
                   made && made->shape.rank == 2 && made->shape.size[0] == weight->shape.size[1] ? &FEATURES_SWAPPED
                                                                                                 : NULL,
                   "fc.weight: expected the shape (out_features, in_features)"))
    return false;
  return expect_text(c, "bias", "fc.bias");
}

// The devices of output and model, and the copies.
static void judge_devices(Case *c, const char *device) {
  const char *start = given_text(c, "model is on");
  bool cuda = strcmp(device, "cpu") != 0, from_cuda = strcmp(start, "cpu") != 0, moved = strcmp(start, device) != 0;
  bool here = cuda && strcmp(got_device(c, "output"), "cpu") == 0;
  bool stayed = moved && from_cuda && strcmp(got_device(c, "output"), start) == 0;
  const Mistake *elsewhere = stayed ? &MODEL_LEFT
                             : here ? counts(c)->device_to_host ? &FETCHED : &MODEL_LEFT
                             : !cuda || strcmp(got_device(c, "output"), "cuda:0") == 0 ? &FIRST_GPU
                                                                                       : NULL;
  if (!expect_device(c, "output", device, elsewhere))
    return;
  const int64_t copies = counts(c)->host_to_device + counts(c)->device_to_host + counts(c)->device_to_device;
  suspect_that(c, strcmp(got_text(c, "weight is on"), start) == 0 && copies >= 4, &TIDIED); // there and back
  if (!expect_text(c, "weight is on", device) || !expect_text(c, "bias is on", device))
    return;
  const bool through_host = moved && cuda && from_cuda && counts(c)->device_to_host > 0;
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, moved && cuda && !from_cuda ? 2 : 0,
                 through_host ? &THROUGH_HOST : &CARRIED);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, moved && !cuda ? 2 : 0, &THROUGH_HOST);
  expect_at_most(c, "copies between devices", counts(c)->device_to_device, moved && cuda && from_cuda ? 2 : 0,
                 &ROUNDABOUT);
}

// The right shape, and other values.
static bool was_refused_output(Case *c) {
  const Array *have = got(c, "output"), *want = output_of(c, true, true, false);
  if (!have || have->dtype != FY_FLOAT32 || !same_shape(have->shape, want->shape))
    return false;
  int64_t different = 0;
  for (int64_t i = 0; i < want->count; i++)
    different += !(fabs((double)have->f32[i] - want->f32[i]) <= 1e-3 * fmax(1, fabs((double)want->f32[i])));
  return different > 0;
}

// The output of the second model, which has the opposite values.
static Array *opposite_output(Case *c) {
  return array_negated(c, output_of(c, true, true, false));
}

// The models that are created later: the second, and one of other sizes, on two devices.
static void judge_more(Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch") + 1, in = (int64_t)given_number(c, "in_features") + 1;
  Array *sums = new_array(c, FY_FLOAT32, shape(batch, (int64_t)given_number(c, "out_features") + 2));
  for (int64_t i = 0; i < sums->count; i++)
    for (int64_t k = 0; k < in; k++)
      sums->f32[i] += (float)(i / sums->shape.size[1] * in + k);
  if (expect_array(c, "output of the second model", opposite_output(c), 1e-3) &&
      expect_that(c, got_number(c, "third of its own") == 1, NULL,
                  "a model with different sizes: expected its own layer, with these sizes") &&
      expect_array(c, "output of a model with different sizes", sums, 1e-3) &&
      expect_device(c, "output of a model with different sizes", given_text(c, "device"), NULL) &&
      expect_array(c, "output on another device", sums, 1e-3))
    expect_device(c, "output on another device", got_text(c, "another device"), NULL);
}

// The input of the first call, where another was asked for.
static bool kept_input(const Case *c) {
  char text[64];
  snprintf(text, sizeof text, "is invalid for input of size %lld",
           (long long)(given_number(c, "batch") * given_number(c, "in_features")));
  return got(c, "output of the second model") && strstr(got_error(c), text);
}

static void judge(Case *c) {
  const char *device = given_text(c, "device");
  const char *weight_device = got_text(c, "weight is on");
  bool model_there = strcmp(weight_device, device) == 0,
       stayed = strcmp(weight_device, given_text(c, "model is on")) == 0;
  bool apart = strstr(got_error(c), "on the same device") != NULL;
  suspect_that(c, apart && !model_there && stayed, &MODEL_LEFT);
  suspect_that(c, apart && !model_there && strcmp(weight_device, "cuda:0") == 0, &FIRST_GPU);
  suspect_that(c, apart && model_there && !got(c, "output"), &INPUT_LEFT);
  suspect_that(c, got_number(c, "second of its own") == 0 || got_number(c, "third of its own") == 0, &ONE_FOR_ALL);
  suspect_that(c, kept_input(c), &KEPT);
  suspect_array(c, "output", opposite_output(c), &ONE_FOR_ALL);
  suspect_that(c, was_refused_output(c) && !model_there, &NEW_MODEL);
  suspect_array(c, "output", output_of(c, true, true, true), &ACTIVATION);
  suspect_array(c, "output", output_of(c, true, false, false), &NO_BIAS);
  suspect_array(c, "output", output_of(c, false, true, false), &ONES);
  suspect_array(c, "output", output_of_columns(c), &ONES);
  if (!got(c, "output") && !*got_error(c) && got_number(c, "parameters") != got_number(c, "parameters")) {
    expect_that(c, false, NULL, "simple_net: expected a module, got NULL");
    return;
  }
  if (judge_model(c) &&
      expect_that(c, got_number(c, "second of its own") == 1, NULL,
                  "a second model: expected its own layer, with the given sizes") &&
      expect_array(c, "output", output_of(c, true, true, false), 1e-3)) {
    judge_devices(c, device);
    judge_more(c);
  }
}

// cuda:1 is current, and `device` is cuda:0.
static void judge_current(Case *c) {
  suspect_that(c, strcmp(got_text(c, "weight is on"), "cuda:1") == 0, &FIRST_GPU);
  judge(c);
}

EXERCISE = {
    .id = "05_1_move_a_model",
    .title = "Move a model",
    .after_pass = "fy_module_to moves every registered parameter and buffer of a module and its children.",
    .kind = "write",
    .chapter = 5,
    .level = LEVEL_EASY,
    .minutes = 15,
    .lesson = "docs/05_model_moves.md#define-a-module",
    .stars = {{"one transfer per parameter that moves, and no other transfers",
               {&CARRIED, &ROUNDABOUT, &THROUGH_HOST}}},
    .hints = {"The forward function has the type FyTensor *(FyModule *self, FyTensor *x). Cast self to your struct.",
              "fy_module_new(SimpleNet, forward) creates the module. fy_register_module(net, fc, "
              "fy_nn_linear(in_features, out_features)) adds its layer.",
              "fy_module_to(model, device) moves the model in place. Create the input with fy_arange, which takes "
              ".dtype and .device. Then fy_view makes it two-dimensional."},
    .functions = {"simple_net", "run_on"},
    .tests = {{"GPU", ask_gpu, .judge = judge},
              {"model already on the device", ask_there, .judge = judge},
              {"100 features, 10 classes", ask_large, .judge = judge},
              {"batch of one", ask_one, .judge = judge},
              {"second GPU", ask_second, .judge = judge, .devices = 2},
              {"another current GPU", ask_current, .judge = judge_current, .devices = 2},
              {"from GPU to CPU", ask_back, .judge = judge},
              {"CPU", ask_cpu, .judge = judge},
              {"from GPU to GPU", ask_between, .judge = judge, .devices = 2},
              {"without CUDA", ask_cpu, .judge = judge, .no_cuda = true}},
};
