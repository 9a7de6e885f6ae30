// SPDX-License-Identifier: MIT
// Exercise 9.1: dropout in training mode, BatchNorm in evaluation mode.
#include "exercise.h"
#include <math.h>

#define EVALUATION "docs/09_training_a_classifier.md#evaluation"

static const Mistake TRAINED = {
    "missing evaluation mode",
    "Dropout dropped elements, or BatchNorm used the batch statistics. Call fy_eval before a prediction.", EVALUATION};
static const Mistake BATCH = {
    "BatchNorm in training mode",
    "BatchNorm used the batch statistics. Switch only the dropout layer to training mode: fy_train(net->dropout).",
    EVALUATION};
static const Mistake NO_DROPOUT = {"dropout inactive",
                                   "All forward passes gave the same output. fy_eval(net) also switches the dropout "
                                   "layer, so call fy_train(net->dropout) after it.",
                                   EVALUATION};
static const Mistake MODES = {"training mode not restored",
                              "Restore the mode of the network and of each submodule separately. The modes may differ, "
                              "and fy_train(net) or fy_eval(net) sets all of them.",
                              EVALUATION};
static const Mistake GRAPH = {
    "graph recorded", "A prediction needs no gradients, but fy_eval does not turn them off. Predict inside fy_no_grad.",
    EVALUATION};
static const Mistake ONE_PASS = {"single pass instead of the mean",
                                 "Each pass drops different elements. Return the mean of all passes.", EVALUATION};
static const Mistake AT_ONCE = {
    "all passes in one call",
    "You passed several copies of x to the network in one call. Call the network `passes` times with x itself.",
    EVALUATION};
static const Mistake SUM = {"sum instead of mean", "Divide by the number of passes.", EVALUATION};
static const Mistake PASSES = {"wrong number of passes", "Call the network `passes` times.", EVALUATION};
static const Mistake SQUEEZED = {"dimension removed by squeeze",
                                 "The result must have shape (N, outputs), even if N or outputs is 1. fy_squeeze "
                                 "removes every dimension of size 1. Use fy_mean_dim.",
                                 EVALUATION};
static const Mistake HOST = {"result on the wrong device", "Return the result on the device of the network.",
                             "docs/03_tensor_moves.md#copying-with-todevice"};

static void ask_sized(Case *c, int64_t rows, int64_t outputs, Give how, int64_t passes, int64_t modes) {
  int64_t features = draw_int(c, 3, 6), hidden = draw_odd(c, 5, 9);
  Give here = {0};
  Array *masks = new_array(c, FY_FLOAT32, shape(passes, hidden));
  for (int64_t i = 0; i < masks->count; i++)
    masks->f32[i] = i % hidden == i / hidden % hidden || draw_int(c, 0, 1) ? 2 : 0; // never all of them dropped
  masks->f32[0] = 0;
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(rows, features), -2, 2), how);
  give_array(c, "first.weight", draw_array(c, FY_FLOAT32, shape(hidden, features), -1, 1), here);
  give_array(c, "first.bias", draw_array(c, FY_FLOAT32, shape(hidden), 0, 2), here);
  give_array(c, "running_mean", draw_array(c, FY_FLOAT32, shape(hidden), -1, 0), here);
  give_array(c, "running_var", draw_array(c, FY_FLOAT32, shape(hidden), 1, 4), here);
  give_array(c, "last.weight", draw_array(c, FY_FLOAT32, shape(outputs, hidden), 0.25, 2), here);
  give_array(c, "last.bias", draw_array(c, FY_FLOAT32, shape(outputs), -1, 1), here);
  give_array(c, "masks", masks, here);
  give_number(c, "passes", (double)passes);
  give_number(c, "modes", (double)modes); // a bit for each: net, first, norm, dropout, last
}

static void ask_on(Case *c, Give how, int64_t passes, int64_t modes) {
  int64_t rows = draw_odd(c, 5, 11);
  ask_sized(c, rows, draw_int(c, 2, 4), how, passes, modes);
}

static void ask_training(Case *c) {
  ask_on(c, (Give){.device = "cuda:0"}, draw_int(c, 3, 6), 31);
}
static void ask_evaluation(Case *c) {
  ask_on(c, (Give){.device = "cuda:0"}, draw_int(c, 3, 6), 0);
}
static void ask_frozen(Case *c) { // only BatchNorm in evaluation mode
  ask_on(c, (Give){.device = "cuda:0"}, draw_int(c, 3, 6), 27);
}
static void ask_gaps(Case *c) {
  ask_on(c, (Give){.device = "cpu", .strided = true}, draw_int(c, 8, 12), 31 - 8);
}
static void ask_one(Case *c) {
  ask_on(c, (Give){.device = "cuda:0"}, 1, 30); // the network itself in evaluation mode
}
static void ask_sample(Case *c) {
  ask_sized(c, 1, 3, (Give){.device = "cuda:0"}, draw_int(c, 3, 6), 31);
}
static void ask_output(Case *c) {
  ask_sized(c, draw_odd(c, 5, 11), 1, (Give){.device = "cuda:0"}, draw_int(c, 33, 64), 31);
}
static void ask_second(Case *c) {
  ask_on(c, (Give){.device = "cuda:1"}, draw_int(c, 3, 6), draw_int(c, 0, 31));
}

// ---- the network in plain loops ------------------------------------------------------------------------------------------

static double first_of(const Case *c, int64_t row, int64_t unit) {
  const Array *x = given(c, "x"), *w = given(c, "first.weight");
  int64_t features = x->shape.size[1];
  double sum = given(c, "first.bias")->f32[unit];
  for (int64_t k = 0; k < features; k++)
    sum += (double)x->f32[row * features + k] * w->f32[unit * features + k];
  return sum;
}

// The activations after BatchNorm and relu: (N, hidden) float64.
static Array *activations(Case *c, bool by_batch) {
  int64_t rows = given(c, "x")->shape.size[0], hidden = given(c, "first.bias")->count;
  Array *all = new_array(c, FY_FLOAT64, shape(rows, hidden));
  for (int64_t unit = 0; unit < hidden; unit++) {
    double mean = 0, variance = 0;
    for (int64_t row = 0; row < rows; row++)
      mean += first_of(c, row, unit) / (double)rows;
    for (int64_t row = 0; row < rows; row++)
      variance += pow(first_of(c, row, unit) - mean, 2) / (double)rows;
    mean = by_batch ? mean : given(c, "running_mean")->f32[unit];
    variance = by_batch ? variance : given(c, "running_var")->f32[unit];
    for (int64_t row = 0; row < rows; row++)
      all->f64[row * hidden + unit] = fmax(0, (first_of(c, row, unit) - mean) / sqrt(variance + 1e-5));
  }
  return all;
}

// The sum of `passes` results, times `scale`; without a mask if `masks` is false.
static Array *results(Case *c, bool by_batch, bool masks, int64_t passes, double scale) {
  Array *inner = activations(c, by_batch);
  int64_t rows = inner->shape.size[0], hidden = inner->shape.size[1], outputs = given(c, "last.bias")->count;
  Array *all = new_array(c, FY_FLOAT32, shape(rows, outputs));
  for (int64_t i = 0; i < all->count; i++) {
    double sum = (double)passes * given(c, "last.bias")->f32[i % outputs];
    for (int64_t pass = 0; pass < passes; pass++)
      for (int64_t k = 0; k < hidden; k++)
        sum += inner->f64[i / outputs * hidden + k] * given(c, "last.weight")->f32[i % outputs * hidden + k] *
               (masks ? given(c, "masks")->f32[pass * hidden + k] : 1);
    all->f32[i] = (float)(scale * sum);
  }
  return all;
}

static bool is_squeezed(const Case *c, const char *name) {
  const Array *have = got(c, name);
  return have && have->shape.rank < 2 && have->count == given(c, "x")->shape.size[0] * given(c, "last.bias")->count;
}

static bool judge_plain(Case *c, const char *device) {
  suspect_array(c, "plain", results(c, true, false, 1, 1), &TRAINED);
  suspect_array(c, "plain", results(c, true, true, 1, 1), &TRAINED);
  suspect_array(c, "plain", results(c, false, true, 1, 1), &TRAINED);
  suspect_that(c, is_squeezed(c, "plain") || is_squeezed(c, "mean"), &SQUEEZED);
  return expect_array(c, "plain", results(c, false, false, 1, 1), 1e-4) && expect_device(c, "plain", device, &HOST) &&
         expect_exactly(c, "calls of the network by predict", got_count(c, "calls"), 1, NULL);
}

static bool judge_mean(Case *c, const char *device) {
  int64_t passes = (int64_t)given_number(c, "passes");
  suspect_sure(c, got_count(c, "most rows") > given(c, "x")->shape.size[0], &AT_ONCE);
  suspect_array(c, "mean", results(c, true, true, passes, 1.0 / (double)passes), &BATCH);
  suspect_array(c, "mean", results(c, false, false, 1, 1), &NO_DROPOUT);
  if (passes > 1) {
    if (got_count(c, "passes made") <= passes) // of more passes some may have the same masks
      suspect_array(c, "mean", results(c, false, true, 1, 1), &ONE_PASS);
    suspect_array(c, "mean", results(c, false, true, passes, 1), &SUM);
  }
  suspect_that(c, !*got_error(c) && got_count(c, "passes made") != passes, &PASSES);
  return expect_array(c, "mean", results(c, false, true, passes, 1.0 / (double)passes), 1e-4) &&
         expect_device(c, "mean", device, &HOST) &&
         expect_exactly(c, "calls of the network by mean_with_dropout", got_count(c, "passes made"), passes, &PASSES);
}

static void judge(Case *c) {
  const char *device = given(c, "x")->device < 0 ? "cpu" : given(c, "x")->device == 0 ? "cuda:0" : "cuda:1";
  int64_t modes = (int64_t)given_number(c, "modes");
  if (!judge_plain(c, device) || !judge_mean(c, device))
    return;
  expect_array(c, "running mean after", given(c, "running_mean"), 1e-6);
  expect_array(c, "running var after", given(c, "running_var"), 1e-6);
  expect_exactly(c, "modes after predict (one bit each for net, first, norm, dropout, last)",
                 got_count(c, "modes after predict"), modes, &MODES);
  expect_exactly(c, "modes after mean_with_dropout (one bit each for net, first, norm, dropout, last)",
                 got_count(c, "modes after"), modes, &MODES);
  expect_that(c, !((got(c, "plain")->flags | got(c, "mean")->flags) & ARRAY_REQUIRES_GRAD), &GRAPH,
              "the result requires grad");
}

EXERCISE = {
    .id = "09_1_monte_carlo_dropout",
    .title = "Monte Carlo dropout",
    .after_pass =
        "Each module has its own training flag, so dropout can be active while BatchNorm is in evaluation mode.",
    .kind = "write",
    .chapter = 9,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .lesson = EVALUATION,
    .stars = {{"no graph is recorded", {&GRAPH}}},
    .hints = {"Each module has a flag, module->training. fy_train(module) and fy_eval(module) set it in the module and "
              "in all of its submodules.",
              "Call fy_eval(net), then fy_train(net->dropout). Run the network `passes` times inside fy_no_grad, and "
              "divide the sum of the outputs by `passes`.",
              "Save the five flags first. Restore the network's flag before those of its submodules, because "
              "fy_set_training_of also sets the submodules' flags."},
    .functions = {"predict", "mean_with_dropout"},
    .tests = {{.name = "one pass", .ask = ask_one, .judge = judge},
              {.name = "a network in training mode", .ask = ask_training, .judge = judge},
              {.name = "a network in evaluation mode", .ask = ask_evaluation, .judge = judge},
              {.name = "frozen BatchNorm", .ask = ask_frozen, .judge = judge},
              {.name = "on the CPU, a strided view", .ask = ask_gaps, .judge = judge},
              {.name = "one sample", .ask = ask_sample, .judge = judge},
              {.name = "one output, many passes", .ask = ask_output, .judge = judge},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
