// SPDX-License-Identifier: MIT
// Exercise 5.5: constants registered as parameters. What the module lists the driver says first, since where they are plain fields the
// forward pass raises an error.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const Mistake NOT_REGISTERED = {
    "a plain field in place of a buffer",
    ".to and state_dict walk over what is registered. A tensor in a plain field of the "
    "struct is unknown to them.",
    "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake ONE_LEFT = {"a buffer left out", "One of the two is registered, and the other is not.",
                                 "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake PARAMETER = {
    "a buffer registered as a parameter",
    "It moves and it is saved, but an optimizer would train it. What belongs to the model without "
    "being trained is a buffer.",
    "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake EACH_FORWARD = {
    "moved in every forward pass",
    "The error is gone, and in its place there is a transfer in each pass. And what is "
    "not registered is still not saved.",
    "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake OTHER_NAME = {
    "registered under another name",
    "The names are part of the file format: a state_dict that was saved has mean and std.",
    "docs/05_model_moves.md#every-parameter-verified"};
static const Mistake ORIGINAL = {"another tensor used than the registered one",
                                 "What is registered moves and is saved; the forward pass uses another tensor (the one "
                                 "that was copied, or one worked out "
                                 "beforehand), which does neither.",
                                 "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake FIXED_DEVICE = {
    "the device fixed when the module is made",
    "A module is made before anyone says where it will live. .to(device) says it later.",
    "docs/05_model_moves.md#cuda-against-todevice"};
static const Mistake GAIN_LOST = {"the gain no longer trained", "The gain was a parameter, and has to stay one.",
                                  "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake NOT_LOADED = {
    "values taken beforehand",
    "load_state_dict changes the buffers. The forward pass has to use them as they are then.",
    "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake ASKED = {"the host asks in the forward pass",
                              "A value of a tensor was read by the host: for that it waits until the device has "
                              "computed everything, in each forward pass.",
                              "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake BROUGHT = {"something brought in the forward pass",
                                "Something of the host's was moved to the device in each forward pass: what is needed "
                                "there can be registered, and is moved once.",
                                "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake CONSTANT = {"a constant in place of the result",
                                 "What is returned is the same for every input: nothing was computed.",
                                 "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the module.",
                                "docs/05_model_moves.md#a-model-of-ones-own"};

static const Mistake LAST_MADE = {
    "one module for all",
    "As soon as another module was made, this one computed with that one's tensors. Each has "
    "its own: forward gets the module as `self`; a global is shared by all.",
    "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake SMALL_ADDED = {
    "a small number added",
    "Something was added to std, which may be as small as 1e-6, and is above 0: nothing "
    "has to be added.",
    "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake RECIPROCAL = {"1 / std under std's name",
                                   "The results are right, and what is saved as std is not: a state_dict is read by "
                                   "others, who take it for what its name "
                                   "says.",
                                   "docs/05_model_moves.md#every-parameter-verified"};
static const Mistake NO_GRAPH = {
    "no gradient for the gain",
    "The gain is trained, and the result does not depend on it as far as autograd can see: forward "
    "ran in fy_no_grad, or used a detached gain.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake NO_INPUT = {"no gradient for the input",
                                 "A module may stand behind others: the gradient has to find its way through it, to x.",
                                 "docs/05_model_moves.md#training-steps"};
static const Mistake LEARNS = {"a buffer that requires a gradient",
                               "Mean and std are known, not learnt: autograd has nothing to compute for them.",
                               "docs/05_model_moves.md#parameters-and-buffers-too"};
static const Mistake SCHEDULE_CHANGES = {
    "changed by the forward pass",
    "A pass computes with gain, mean and std, and the next one needs them as they were. "
    "An operation with an underscore writes into its first argument.",
    "docs/07_pitfalls.md#in-place-and-the-gradients"};
static const Mistake NEVER_FREED = {"retained and never released",
                                    "The scope around the module has ended, and some of its memory is still in use. "
                                    "Registering holds a tensor as long as the module lives: no fy_retain is needed.",
                                    "docs/03_tensor_moves.md#how-long-a-tensor-lives"};

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
static void ask_narrow(Case *c) { // as small as std may be
  ask_sizes(c, draw_odd(c, 5, 9), draw_int(c, 10, 20), (Give){.device = "cuda:0"});
  float *std = given(c, "std")->f32;
  for (int64_t i = 0; i < given(c, "std")->count; i++)
    std[i] *= 5e-7F;
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
  if (!got(c, "result") || given(c, "x")->device < 0)
    return &NOT_REGISTERED;
  return counts(c)->host_to_device ? &EACH_FORWARD : &FIXED_DEVICE; // it was on a GPU, and nothing has moved it there
}

static bool expect_buffer(Case *c, const char *name, const char *device) {
  return expect_that(c, lists(c, "buffers", name), not_a_buffer(c), "%s: it is not among the module's buffers", name) &&
         expect_that(c, lists(c, "state", name), not_a_buffer(c), "%s: it is not in the state_dict", name) &&
         expect_array(c, name, given(c, name), 0) && expect_device(c, name, device, &FIXED_DEVICE);
}

static bool pass_changes(const Case *c) {
  static const char *const names[] = {"gain", "mean", "std"};
  int64_t changed = 0;
  for (int i = 0; i < 3; i++) {
    char after[32];
    snprintf(after, sizeof after, "%s after", names[i]);
    const Array *now = got_shaped(c, after, given(c, names[i])->shape);
    changed +=
        now && now->dtype == FY_FLOAT32 && memcmp(now->f32, given(c, names[i])->f32, (size_t)now->count * 4) != 0;
  }
  // Before the first pass mean and std were right.
  return changed > 0 && is_near(got(c, "mean"), given(c, "mean")) && is_near(got(c, "std"), given(c, "std"));
}

// The same number more of std in each column, by what the first row's say.
static bool has_more_of_std(Case *c) {
  const Array *have = got_shaped(c, "result", given(c, "x")->shape), *x = given(c, "x");
  const Array *gain = given(c, "gain"), *mean = given(c, "mean"), *std = given(c, "std");
  const int64_t features = x->shape.size[1];
  double least = INFINITY, most = 0;
  for (int64_t j = 0; have && have->dtype == FY_FLOAT32 && j < features && j < x->count; j++) {
    const double more = (double)gain->f32[j] * (x->f32[j] - mean->f32[j]) / have->f32[j] - std->f32[j];
    least = fmin(least, more);
    most = fmax(most, more);
  }
  return least > 0 && most > 0 && most < 1e-2 && most - least < 0.1 * most;
}

static void suspect_all(Case *c) {
  suspect_error(c, "is used after its scope has ended: it was made at tests/", &GIVEN_UP);
  const bool changes = lists(c, "parameters", "gain") && pass_changes(c);
  suspect_that(c, changes, &SCHEDULE_CHANGES);
  bool both = lists(c, "buffers", "mean") && lists(c, "buffers", "std"), error = *got_error(c);
  suspect_that(c, !error && got_number(c, "made") == 0, &NOTHING);
  suspect_that(c, error && !both, not_a_buffer(c));
  Array *alone = scaled(c, given(c, "mean"), given(c, "std"));
  bool was_right = is_near(got(c, "result alone"), alone);
  suspect_that(c, was_right && !changes && got(c, "result") && !is_near(got(c, "result"), alone), &LAST_MADE);
  Array *inverse = new_array(c, FY_FLOAT32, given(c, "std")->shape);
  for (int64_t i = 0; i < inverse->count; i++)
    inverse->f32[i] = 1 / given(c, "std")->f32[i];
  suspect_that(c, has_more_of_std(c), &SMALL_ADDED);
  suspect_array(c, "std", inverse, &RECIPROCAL);
  suspect_that(c, error && both && strstr(got_error(c), "same device"), &ORIGINAL);
  if (given(c, "x")->count > 0)
    suspect_array(c, "result", new_array(c, FY_FLOAT32, given(c, "x")->shape), &CONSTANT);
}

static void judge(Case *c) {
  const Array *x = given(c, "x");
  const Counts *n = counts(c);
  const char *device = x->device < 0 ? "cpu" : x->device == 0 ? "cuda:0" : "cuda:1";
  suspect_all(c);
  if (!expect_number(c, "made", 1, 0) || !expect_buffer(c, "mean", device) || !expect_buffer(c, "std", device))
    return;
  bool trained = strcmp(got_text(c, "parameters"), "gain") == 0;
  if (!expect_that(c, trained, &GAIN_LOST, "parameters: expected gain alone, got: %.200s", got_text(c, "parameters")))
    return;
  if (!expect_array(c, "result", scaled(c, given(c, "mean"), given(c, "std")), 1e-5) ||
      !expect_device(c, "result", device, &FIXED_DEVICE))
    return;
  expect_that(c, !pass_changes(c), &SCHEDULE_CHANGES, "gain, mean or std: after a forward pass it is not what it was");
  expect_exactly(c, "copies from host to device in the forward pass", n->host_to_device, 0, &BROUGHT);
  expect_exactly(c, "copies from device to host in the forward pass", n->device_to_host, 0, &ASKED);
  expect_that(c, !*got_text(c, "learns"), &LEARNS, "%.40s: it requires a gradient", got_text(c, "learns"));
  const char *no_gain = "gain.grad: there is none";
  if (expect_that(c, got_number(c, "recorded") == 1 && got(c, "gain.grad"), &NO_GRAPH, "%s", no_gain) &&
      // With a small std the terms of that sum may cancel, and float32 has no digits left.
      (given(c, "std")->f32[0] < 1e-3F || expect_array(c, "gain.grad", gradient_of(c, true), 1e-4)) &&
      expect_that(c, got(c, "x.grad") != NULL, &NO_INPUT, "x.grad: there is none"))
    expect_array(c, "x.grad", gradient_of(c, false), 1e-4);
  suspect_array(c, "after loading", scaled(c, given(c, "mean"), given(c, "std")), &NOT_LOADED);
  suspect_array(c, "after loading", scaled(c, given(c, "mean"), given(c, "loaded std")), &NOT_LOADED);
  suspect_array(c, "after loading", scaled(c, given(c, "loaded mean"), given(c, "std")), &NOT_LOADED);
  if (expect_array(c, "after loading", scaled(c, given(c, "loaded mean"), given(c, "loaded std")), 1e-5))
    expect_that(c, got_number(c, "left behind") <= 0, &NEVER_FREED,
                "after the scope around a module %g bytes more are in use than before", got_number(c, "left behind"));
}

EXERCISE = {
    .id = "05_5_scaling_module",
    .title = "Find the bug: a scaling module",
    .after_pass = "What moves and is saved with a module, and is not trained, is a buffer and no parameter.",
    .kind = "find the bug",
    .chapter = 5,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .bug = true,
    .lesson = "docs/05_model_moves.md#parameters-and-buffers-too",
    .hints =
        {"Print the names in fy_parameters(module): an optimizer changes all of these.",
         "fy_module_to moves what is registered, and fy_state_dict saves it. Parameters are trained; for tensors that "
         "are not, there is another kind.",
         "gain shows how a parameter is registered. nn/nn.h has the same for buffers."},
    .functions = {"scaler"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "a view with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "a small std", .ask = ask_narrow, .judge = judge},
              {.name = "no rows", .ask = ask_no_rows, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
