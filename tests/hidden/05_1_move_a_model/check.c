// SPDX-License-Identifier: MIT
// Exercise 5.1: a model moved, and an input made where it went.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake UNREGISTERED = {"layer not registered",
                                     "The layer is in a plain field, so .to and parameters() do not know of it. "
                                     "fy_register_module puts it there and tells.",
                                     "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake FEATURES_SWAPPED = {
    "features swapped", "nn.Linear takes in_features first, and its weight is (out_features, in_features).",
    "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake MODEL_LEFT = {"the model left behind",
                                   "The parameters stayed where they were. fy_module_to moves all of them, in place.",
                                   "docs/07_pitfalls.md#the-model-left-on-the-cpu"};
static const Mistake INPUT_LEFT = {
    "the input left behind", "The model is on the device and its input is not. Give the factory `.device = device`.",
    "docs/05_model_moves.md#when-they-are-apart"};
static const Mistake CARRIED = {
    "the input made on the CPU and moved",
    "The input crossed from the host. fy_arange makes it on the device with `.device = device`.",
    "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake TIDIED = {
    "the model moved away again",
    "The output is on the device, and the model no longer: it is to stay where it was moved.",
    "docs/05_model_moves.md#every-parameter-verified"};
static const Mistake FETCHED = {"the output fetched",
                                "The output is wanted where the model made it; what comes next may need it there.",
                                "docs/05_model_moves.md#every-parameter-verified"};
static const Mistake FIRST_GPU = {"the first GPU, not the one given",
                                  ".cuda() goes to the current device. .to(device) goes where it is told.",
                                  "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake CURRENT_GPU = {"always the current GPU",
                                    ".cuda() goes to the current device, whichever was asked for. .to(device) goes "
                                    "where it is told.",
                                    "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake NEW_MODEL = {
    "another model", "The output is not that of the model that was given: its weights are what it has learnt.",
    "docs/05_model_moves.md#before-and-after"};
static const Mistake ACTIVATION = {"an activation added", "The model is one linear layer; nothing follows it.",
                                   "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake NO_BIAS = {"bias left out", "The layer is x @ weight.T + bias; fy_forward(fc, x) does both.",
                                "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake ONES = {"another input", "The dummy input counts 0, 1, 2, ... along each row and on in the next.",
                             "docs/03_tensor_moves.md#made-there-in-the-first-place"};

static const Mistake ROUNDABOUT = {
    "by way of another GPU",
    "Something was copied from GPU to GPU on its way. From the host each device is one copy away.",
    "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake THROUGH_HOST = {
    "by way of the host", "From one GPU to another the parameters went through the CPU. fy_module_to sends them over.",
    "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake NOT_BACK = {
    "moved only to CUDA", "The device that is given may be the CPU, or another GPU than the one where the model is.",
    "docs/05_model_moves.md#cuda-against-todevice"};

static const Mistake ONE_FOR_ALL = {"one module for all",
                                    "As soon as another model was made, two of them had one layer. Each has its own: "
                                    "forward gets the module as `self`; a "
                                    "global or a static is shared by all.",
                                    "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake KEPT = {"kept from the call before",
                             "run_on was called for another model, device or batch, and used what an earlier call had "
                             "left. Each call makes its own input.",
                             "docs/05_model_moves.md#a-model-of-ones-own"};

static void ask(Case *c, const char *device, const char *start, int64_t batch, int64_t in, int64_t out) {
  give_text(c, "device", device);
  give_text(c, "starts on", start);
  give_number(c, "batch", (double)batch);
  give_number(c, "in_features", (double)in);
  give_number(c, "out_features", (double)out);
  // In steps, so that each sum is exact, however large what cancels in it.
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
  if (!expect_that(c, made && made->shape.rank == 2 && made->shape.size[1] == weight->shape.size[1], &FEATURES_SWAPPED,
                   "fc.weight: expected (out_features, in_features)"))
    return false;
  return expect_text(c, "bias", "fc.bias");
}

// Where everything went, and by how many copies.
static void judge_places(Case *c, const char *device) {
  const char *start = given_text(c, "starts on");
  bool cuda = strcmp(device, "cpu") != 0, from_cuda = strcmp(start, "cpu") != 0, moved = strcmp(start, device) != 0;
  bool here = cuda && strcmp(got_device(c, "output"), "cpu") == 0;
  bool stayed = moved && from_cuda && strcmp(got_device(c, "output"), start) == 0;
  const Mistake *elsewhere = stayed  ? &NOT_BACK
                             : here  ? counts(c)->device_to_host ? &FETCHED : &MODEL_LEFT
                             : !cuda ? &NOT_BACK
                             : strcmp(got_device(c, "output"), "cuda:0") == 0 ? &FIRST_GPU
                                                                              : NULL;
  if (!expect_device(c, "output", device, elsewhere))
    return;
  suspect_that(c, strcmp(got_text(c, "weight is on"), device) != 0, &TIDIED);
  if (!expect_text(c, "weight is on", device) || !expect_text(c, "bias is on", device))
    return;
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, moved && cuda && !from_cuda ? 2 : 0,
                 counts(c)->device_to_host && from_cuda ? &THROUGH_HOST : &CARRIED);
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, moved && !cuda ? 2 : 0, &FETCHED);
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

// That of the second model, which has the opposite values.
static Array *opposite_output(Case *c) {
  return array_negated(c, output_of(c, true, true, false));
}

// The models that were made later: the second, and ones of other sizes, there and elsewhere.
static void judge_more(Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch") + 1, in = (int64_t)given_number(c, "in_features") + 1;
  Array *sums = new_array(c, FY_FLOAT32, shape(batch, (int64_t)given_number(c, "out_features") + 2));
  for (int64_t i = 0; i < sums->count; i++)
    for (int64_t k = 0; k < in; k++)
      sums->f32[i] += (float)(i / sums->shape.size[1] * in + k);
  if (expect_array(c, "output of the second", opposite_output(c), 1e-3) &&
      expect_that(c, got_number(c, "third of its own") == 1, NULL,
                  "a model of other sizes: its layer is not one of its own, of its sizes") &&
      expect_array(c, "output of other sizes", sums, 1e-3) &&
      expect_device(c, "output of other sizes", given_text(c, "device"), NULL) &&
      expect_array(c, "output elsewhere", sums, 1e-3))
    expect_device(c, "output elsewhere", got_text(c, "another device"), NULL);
}

// The input of the first call, where another was asked for.
static bool kept_input(const Case *c) {
  char text[64];
  snprintf(text, sizeof text, "is invalid for input of size %lld",
           (long long)(given_number(c, "batch") * given_number(c, "in_features")));
  return got(c, "output of the second") && strstr(got_error(c), text);
}

static void judge(Case *c) {
  const char *device = given_text(c, "device");
  const char *place = got_text(c, "weight is on");
  bool model_there = strcmp(place, device) == 0, stayed = strcmp(place, given_text(c, "starts on")) == 0;
  bool apart = strstr(got_error(c), "on the same device") != NULL;
  bool cuda = strcmp(device, "cpu") != 0, was_cuda = strcmp(given_text(c, "starts on"), "cpu") != 0;
  suspect_that(c, apart && !model_there && stayed, cuda && !was_cuda ? &MODEL_LEFT : &NOT_BACK);
  suspect_that(c, apart && !model_there && strcmp(place, "cuda:0") == 0, &FIRST_GPU);
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
    expect_that(c, false, NULL, "simple_net: the answer returned NULL");
    return;
  }
  if (judge_model(c) &&
      expect_that(c, got_number(c, "second of its own") == 1, NULL,
                  "a second model: its layer is not one of its own, of its sizes") &&
      expect_array(c, "output", output_of(c, true, true, false), 1e-3)) {
    judge_places(c, device);
    judge_more(c);
  }
}

// With cuda:1 current, where cuda:0 is asked for.
static void judge_current(Case *c) {
  suspect_that(c, strcmp(got_text(c, "weight is on"), "cuda:1") == 0, &CURRENT_GPU);
  judge(c);
}

EXERCISE = {
    .id = "05_1_move_a_model",
    .title = "Move a model",
    .after_pass = "Moving a module moves every parameter and buffer that it has registered, and its children's.",
    .kind = "write",
    .chapter = 5,
    .level = LEVEL_EASY,
    .minutes = 15,
    .lesson = "docs/05_model_moves.md#a-model-of-ones-own",
    .hints =
        {"The forward function has the type FyTensor *(FyModule *self, FyTensor *x); self is your struct, cast.",
         "fy_module_new(SimpleNet, forward) makes the module, fy_register_module(net, fc, fy_nn_linear(...)) its "
         "layer.",
         "fy_module_to(model, device) moves the model in place. fy_arange has .dtype and .device; fy_view gives it two "
         "dimensions."},
    .functions = {"simple_net", "run_on"},
    .tests = {{"on a GPU", ask_gpu, .judge = judge},
              {"there already", ask_there, .judge = judge},
              {"100 features, 10 classes", ask_large, .judge = judge},
              {"a batch of one", ask_one, .judge = judge},
              {"on the second GPU", ask_second, .judge = judge, .devices = 2},
              {"on the first GPU, the second current", ask_current, .judge = judge_current, .devices = 2},
              {"from a GPU to the CPU", ask_back, .judge = judge},
              {"to the CPU, with CUDA there", ask_cpu, .judge = judge},
              {"from one GPU to another", ask_between, .judge = judge, .devices = 2},
              {"without CUDA", ask_cpu, .judge = judge, .no_cuda = true}},
};
