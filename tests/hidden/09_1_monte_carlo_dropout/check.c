// SPDX-License-Identifier: MIT
// Exercise 9.1: one flag, two layers that take it differently.
#include "exercise.h"
#include <math.h>

#define EVALUATION "docs/09_training_a_classifier.md#evaluation"

static const Mistake TRAINED = {"predicted in training mode",
                                "Something was dropped, or BatchNorm went by the batch: fy_eval before a prediction.",
                                EVALUATION};
static const Mistake BATCH = {
    "BatchNorm in training mode",
    "fy_train on the whole network switches BatchNorm on too: it goes by the batch and changes "
    "what it has learned. Dropout alone was meant.",
    EVALUATION};
static const Mistake REST = {
    "the rest in training mode",
    "BatchNorm was not the only part to be in evaluation mode: all are but the dropout, and so is "
    "the network itself.",
    EVALUATION};
static const Mistake NO_DROPOUT = {
    "dropout off in every pass",
    "All passes are the same prediction. fy_eval goes down to all parts; put dropout into "
    "training mode after it.",
    EVALUATION};
static const Mistake MODES = {"another mode than before",
                              "Each part has to be left in the mode in which it came, and they did not all come in the "
                              "same. fy_train and fy_eval of the network reach every part.",
                              EVALUATION};
static const Mistake GRAPH = {
    "a graph recorded", "Nothing is learnt from a prediction: fy_no_grad. fy_eval records all the same.", EVALUATION};
static const Mistake ONE_PASS = {"one pass in place of the mean", "Every pass drops others; their mean was asked for.",
                                 EVALUATION};
static const Mistake AT_ONCE = {
    "all passes in one call",
    "The network got copies of x below each other. A pass is a call, which draws anew what is dropped.", EVALUATION};
static const Mistake SUM = {"the sum in place of the mean", "Divide by the number of passes.", EVALUATION};
static const Mistake PASSES = {"another number of passes", "The network is called `passes` times.", EVALUATION};
static const Mistake SQUEEZED = {
    "the result squeezed",
    "The result has two dimensions, (N, outputs), even where one of them is 1. fy_squeeze takes away each that is 1; "
    "fy_mean_dim takes away the one that it is told.",
    EVALUATION};
static const Mistake PUT_BACK = {
    "the generator put back",
    "After the call the process's generator was where it had been before: the next call drops the same elements again.",
    EVALUATION};
static const Mistake HOST = {"the result on the CPU", "The result belongs on the device of the network.",
                             "docs/03_tensor_moves.md#todevice"};

static void ask_sized(Case *c, int64_t rows, int64_t outputs, Give how, int64_t schedules, int64_t modes) {
  int64_t features = draw_int(c, 3, 6), hidden = draw_odd(c, 5, 9);
  Give here = {0};
  Array *masks = new_array(c, FY_FLOAT32, shape(schedules, hidden));
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
  give_number(c, "passes", (double)schedules);
  give_number(c, "modes", (double)modes); // a bit for each: net, first, norm, dropout, last
}

static void ask_on(Case *c, Give how, int64_t schedules, int64_t modes) {
  int64_t rows = draw_odd(c, 5, 11);
  ask_sized(c, rows, draw_int(c, 2, 4), how, schedules, modes);
}

static void ask_training(Case *c) {
  ask_on(c, (Give){.device = "cuda:0"}, draw_int(c, 3, 6), 31);
}
static void ask_evaluation(Case *c) {
  ask_on(c, (Give){.device = "cuda:0"}, draw_int(c, 3, 6), 0);
}
static void ask_frozen(Case *c) { // BatchNorm alone in evaluation mode
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
  ask_sized(c, draw_odd(c, 5, 11), 1, (Give){.device = "cuda:0"}, draw_int(c, 33, 64),
            31); // more than somebody has room for
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

// What comes behind BatchNorm and relu: (N, hidden) float64.
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

// The sum of `passes` results, times `scale`; without a mask where `masks` is false.
static Array *results(Case *c, bool by_batch, bool masks, int64_t schedules, double scale) {
  Array *inner = activations(c, by_batch);
  int64_t rows = inner->shape.size[0], hidden = inner->shape.size[1], outputs = given(c, "last.bias")->count;
  Array *all = new_array(c, FY_FLOAT32, shape(rows, outputs));
  for (int64_t i = 0; i < all->count; i++) {
    double sum = (double)schedules * given(c, "last.bias")->f32[i % outputs];
    for (int64_t schedule = 0; schedule < schedules; schedule++)
      for (int64_t k = 0; k < hidden; k++)
        sum += inner->f64[i / outputs * hidden + k] * given(c, "last.weight")->f32[i % outputs * hidden + k] *
               (masks ? given(c, "masks")->f32[schedule * hidden + k] : 1);
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
  int64_t schedules = (int64_t)given_number(c, "passes");
  suspect_that(c, got_count(c, "most rows") > given(c, "x")->shape.size[0], &AT_ONCE);
  suspect_array(c, "mean", results(c, true, true, schedules, 1.0 / (double)schedules), &BATCH);
  suspect_array(c, "mean", results(c, false, false, 1, 1), &NO_DROPOUT);
  if (schedules > 1) {
    if (got_count(c, "passes made") <= schedules) // of more passes some may come to the same by chance
      suspect_array(c, "mean", results(c, false, true, 1, 1), &ONE_PASS);
    suspect_array(c, "mean", results(c, false, true, schedules, 1), &SUM);
  }
  suspect_that(c, !*got_error(c) && got_count(c, "passes made") != schedules, &PASSES);
  return expect_array(c, "mean", results(c, false, true, schedules, 1.0 / (double)schedules), 1e-4) &&
         expect_device(c, "mean", device, &HOST) &&
         expect_exactly(c, "calls of the network by mean_with_dropout", got_count(c, "passes made"), schedules,
                        &PASSES);
}

static void judge(Case *c) {
  const char *device = given(c, "x")->device < 0 ? "cpu" : given(c, "x")->device == 0 ? "cuda:0" : "cuda:1";
  int64_t modes = (int64_t)given_number(c, "modes");
  if (!judge_plain(c, device) || !judge_mean(c, device))
    return;
  expect_exactly(c, "calls by predict with the network or a linear layer in training mode",
                 got_count(c, "trained in predict"), 0, &REST);
  expect_exactly(c, "calls by mean_with_dropout with the network or a linear layer in training mode",
                 got_count(c, "trained"), 0, &REST);
  expect_array(c, "running mean after", given(c, "running_mean"), 1e-6);
  expect_array(c, "running var after", given(c, "running_var"), 1e-6);
  expect_exactly(c, "modes after predict (a bit for net, first, norm, dropout, last)",
                 got_count(c, "modes after predict"), modes, &MODES);
  expect_exactly(c, "modes after mean_with_dropout (a bit for net, first, norm, dropout, last)",
                 got_count(c, "modes after"), modes, &MODES);
  expect_that(c, got_number(c, "generator") == 1, got_number(c, "generator put back") == 1 ? &PUT_BACK : NULL,
              "after mean_with_dropout the generator is not where dropout left it");
  expect_that(c, !((got(c, "plain")->flags | got(c, "mean")->flags) & ARRAY_REQUIRES_GRAD), &GRAPH,
              "the result carries a graph");
}

EXERCISE = {
    .id = "09_1_monte_carlo_dropout",
    .title = "Monte Carlo dropout",
    .after_pass = "Training mode belongs to each module: dropout may be on while BatchNorm is off.",
    .kind = "write",
    .chapter = 9,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .lesson = EVALUATION,
    .hints =
        {"Every module has a flag, module->training. fy_train(module) and fy_eval(module) set it in the module and in "
         "all "
         "of its parts.",
         "fy_eval(net), and then fy_train(net->dropout).",
         "Write down the five flags before, and put them back: the network's first, since that reaches its parts."},
    .functions = {"predict", "mean_with_dropout"},
    .tests = {{.name = "a network in training", .ask = ask_training, .judge = judge},
              {.name = "a network in evaluation", .ask = ask_evaluation, .judge = judge},
              {.name = "BatchNorm frozen", .ask = ask_frozen, .judge = judge},
              {.name = "on the CPU, an input with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "one pass", .ask = ask_one, .judge = judge},
              {.name = "one sample", .ask = ask_sample, .judge = judge},
              {.name = "one output", .ask = ask_output, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
