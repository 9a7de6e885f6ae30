// SPDX-License-Identifier: MIT
// Exercise 10.1: accuracy, class by class.
#include "exercise.h"
#include <math.h>

#define CLASSES "docs/10_cifar10.md#accuracy-per-class"

#define EVALUATION "docs/09_training_a_classifier.md#evaluation"

static const Mistake OVERALL = {"overall accuracy for every class",
                                "Keep two counts for each class: its samples, and the correct predictions among them.",
                                CLASSES};
static const Mistake OF_ALL = {"divided by the number of all samples",
                               "Divide by the number of samples of the class, not by the number of all samples.",
                               CLASSES};
static const Mistake BY_GUESS = {"precision instead of recall",
                                 "You divided by the number of predictions of the class. Group the samples by their "
                                 "label, not by their prediction.",
                                 CLASSES};
static const Mistake OF_BATCHES = {"mean of batch accuracies",
                                   "The number of samples of a class differs between batches. Add up both counts over "
                                   "all batches, and divide once at the end.",
                                   CLASSES};
static const Mistake LAST_BATCH = {"last batch dropped",
                                   "The last batch is smaller, but you must count its samples as well.", CLASSES};
static const Mistake NOT_A_NUMBER = {
    "0 for an empty class",
    "A class without samples has no accuracy. Do not avoid the division 0 / 0, which gives NaN.", CLASSES};
static const Mistake COUNTS = {"counts not divided", "Divide the correct predictions by the number of samples.",
                               CLASSES};
static const Mistake TRAINING = {"forward pass in training mode",
                                 "Call fy_eval(model) before the loop. It also switches the submodules.", EVALUATION};
static const Mistake MODE = {"model mode not restored",
                             "Save model->training before you change it. Restore it with fy_set_training_of(model, "
                             "was_training), which also sets the submodules.",
                             EVALUATION};
static const Mistake SQUEEZED = {"scores squeezed with one class",
                                 "With one class, the scores have shape (N, 1), and fy_squeeze removes the class "
                                 "dimension. Take the argmax over dimension 1 instead.",
                                 CLASSES};
static const Mistake ONE_SQUEEZED = {
    "batch of one sample squeezed",
    "For a batch of one sample, fy_squeeze also removes the batch dimension. Squeeze one specific dimension, or none.",
    CLASSES};
static const Mistake SQUASHED = {"argmax of saturated probabilities",
                                 "After a sigmoid or softmax, different scores can round to the same float. Take the "
                                 "argmax of the scores themselves.",
                                 CLASSES};
static const Mistake KEPT = {"counts of an earlier call",
                             "A static variable keeps its counts between calls. Start with zeros in each call.",
                             CLASSES};
static const Mistake CLASSES_KEPT = {
    "static state of an earlier call",
    "A second call with more classes failed. Do not keep tensors in static variables. Create them in each call.",
    CLASSES};
static const Mistake READS = {"device-to-host copy in the loop",
                              "fy_item, fy_cpu and similar functions make the host wait for the device in every batch. "
                              "Accumulate the counts on the device.",
                              "docs/08_data_pipeline.md#prefetching-batches"};
static const Mistake ON_CPU = {"result on the wrong device", "Return the result on `device`, where it is computed.",
                               "docs/03_tensor_moves.md#copying-with-todevice"};
// They cost a star.
static const Mistake GRAPH = {"autograd graph recorded",
                              "The evaluation needs no graph. Put fy_no_grad around the loop.", EVALUATION};
static const Mistake WAITS = {"blocking copies to the device",
                              "The host waited for each batch's copy. Use fy_for_prefetched_batches, or fy_to with "
                              ".non_blocking = true.",
                              "docs/08_data_pipeline.md#prefetching-batches"};
static const Mistake COPIES = {"needless copies to the device",
                               "Only data and labels need a copy per batch. Create everything else on the device.",
                               "docs/03_tensor_moves.md#creating-tensors-on-the-device"};

static void ask_rest(Case *c, const char *device, int64_t classes, bool training, int64_t empty, float scale,
                     int64_t rest) {
  int64_t features = draw_int(c, 4, 7), batch = draw_int(c, 8, 11), samples = 9 * batch + rest;
  Array *labels = new_array(c, FY_INT64, shape(samples));
  for (int64_t i = 0; i < samples; i++) { // unequal numbers: a low class more often
    int64_t a = draw_int(c, 0, classes - 1), b = draw_int(c, 0, classes - 1);
    labels->i64[i] = i < classes ? i : a < b ? a : b;
    if (labels->i64[i] == empty)
      labels->i64[i] = 0;
  }
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(samples, features), -1, 1), (Give){0});
  give_array(c, "labels", labels, (Give){0});
  Array *others = new_array(c, FY_INT64, shape(samples));
  for (int64_t i = 0; i < samples; i++)
    others->i64[i] = (labels->i64[i] + 1) % classes;
  give_array(c, "other labels", others, (Give){0});
  give_number(c, "called before and again", 1);
  Array *weight = draw_array(c, FY_FLOAT32, shape(features, classes), -1, 1);
  for (int64_t i = 0; i < weight->count; i++)
    weight->f32[i] *= scale; // a power of two: sums stay exact
  give_array(c, "weight", weight, (Give){0});
  give_text(c, "device", device);
  give_number(c, "batch size", (double)batch);
  give_number(c, "training", training);
}

static void ask_on(Case *c, const char *device, int64_t classes, bool training, int64_t empty, float scale) {
  ask_rest(c, device, classes, training, empty, scale, draw_int(c, 2, 5));
}
static void ask_rest_of_one(Case *c) {
  ask_rest(c, "cuda:0", draw_int(c, 3, 5), true, -1, 1, 1);
}
static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 3, 5), true, -1, 1);
}
static void ask_cpu(Case *c) {
  ask_on(c, "cpu", draw_int(c, 3, 5), true, -1, 1);
}
static void ask_empty(Case *c) {
  ask_on(c, "cuda:0", 5, false, 3, 1);
}
static void ask_many(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 11, 15), false, -1, 1);
}
static void ask_large(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 5, 9), true, -1, 0x1p20F);
}
// Scores so close together that their softmax is the same for all.
static void ask_near(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 5, 9), true, -1, 0x1p-40F);
}
static void ask_single(Case *c) { // one class: every prediction is correct
  ask_on(c, "cuda:0", 1, true, -1, 1);
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 3, 5), true, -1, 1);
}

// ---- counted in plain loops ----------------------------------------------------------------------------------------------

static int64_t guess_of(const Case *c, int64_t sample, bool squashed) {
  const Array *x = given(c, "x"), *w = given(c, "weight");
  int64_t features = x->shape.size[1], classes = w->shape.size[1], best = 0;
  double largest = -INFINITY;
  for (int64_t k = 0; k < classes; k++) {
    double score = 0;
    for (int64_t f = 0; f < features; f++)
      score += (double)x->f32[sample * features + f] * w->f32[f * classes + k];
    if (squashed)
      score = score > 17 ? 1 : score < -88 ? 0 : 1 / (1 + expf(-(float)score));
    best = score > largest ? k : best;
    largest = fmax(largest, score);
  }
  return best;
}

typedef enum How {
  PER_CLASS,
  ALL_ONE,
  OVER_ALL,
  PRECISION,
  BATCH_MEANS,
  NO_LAST,
  ZERO,
  PLAIN_COUNTS,
  SIGMOID,
  BOTH_CALLS
} How;

// More classes than float16 or bfloat16 can tell apart. Most predictions are among the last 50 classes, and half of them are correct.
static void ask_thousands(Case *c) {
  const int64_t classes = draw_int(c, 2070, 2100), features = 3, batch = draw_int(c, 8, 11);
  const int64_t samples = 2 * batch + draw_int(c, 2, 5);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(samples, features), -1, 1), (Give){0});
  Array *weight = draw_array(c, FY_FLOAT32, shape(features, classes), -1, 1);
  for (int64_t i = 0; i < weight->count; i++)
    weight->f32[i] *= i % classes < classes - 50 ? 1 : 4;
  give_array(c, "weight", weight, (Give){0});
  Array *labels = new_array(c, FY_INT64, shape(samples));
  for (int64_t i = 0; i < samples; i++)
    labels->i64[i] = i % 2 ? guess_of(c, i, false) : draw_int(c, classes - 50, classes - 1);
  give_array(c, "labels", labels, (Give){0});
  give_text(c, "device", "cuda:0");
  give_number(c, "batch size", (double)batch);
  give_number(c, "training", 0);
  give_number(c, "called before and again", 0); // that would take long
}

static void count(const Case *c, const char *labels, How how, int64_t from, int64_t to, double *right, double *all) {
  for (int64_t i = from; i < to; i++) {
    int64_t label = given(c, labels)->i64[i], guess = guess_of(c, i, how == SIGMOID);
    all[how == PRECISION ? guess : label]++;
    right[label] += guess == label;
  }
}

static Array *shares(Case *c, How how) {
  int64_t samples = given(c, "x")->shape.size[0], classes = given(c, "weight")->shape.size[1];
  int64_t batch = how == BATCH_MEANS ? (int64_t)given_number(c, "batch size") : samples, batches = 0;
  Array *out = new_array(c, FY_FLOAT32, shape(classes));
  Array *sums = new_array(c, FY_FLOAT64, shape(classes));
  int64_t end = how == NO_LAST
                    ? samples / (int64_t)given_number(c, "batch size") * (int64_t)given_number(c, "batch size")
                    : samples;
  for (int64_t from = 0; from < end; from += batch, batches++) {
    double *right = new_array(c, FY_FLOAT64, shape(classes))->f64, *all = new_array(c, FY_FLOAT64, shape(classes))->f64;
    double hits = 0;
    if (how == BOTH_CALLS)
      count(c, "other labels", how, 0, end, right, all);
    count(c, "labels", how, from, from + batch < end ? from + batch : end, right, all);
    for (int64_t k = 0; k < classes; k++)
      hits += right[k];
    for (int64_t k = 0; k < classes; k++)
      sums->f64[k] += how == ALL_ONE        ? hits / (double)samples
                      : how == OVER_ALL     ? right[k] / (double)samples
                      : how == PLAIN_COUNTS ? right[k]
                      : how == ZERO         ? right[k] / fmax(all[k], 1)
                                            : right[k] / all[k];
  }
  for (int64_t k = 0; k < classes; k++)
    out->f32[k] = (float)(sums->f64[k] / (double)batches);
  return out;
}

// With one class: a batch counts as correct if its first sample has the largest score of the batch.
static Array *squeezed(Case *c) {
  const Array *x = given(c, "x"), *w = given(c, "weight");
  int64_t samples = x->shape.size[0], features = x->shape.size[1], batch = (int64_t)given_number(c, "batch size");
  Array *out = new_array(c, FY_FLOAT32, shape(1));
  int64_t right = 0;
  for (int64_t from = 0; from < samples; from += batch) {
    int64_t end = from + batch < samples ? from + batch : samples, best = from;
    double largest = -INFINITY;
    for (int64_t i = from; i < end; i++) {
      double score = 0;
      for (int64_t f = 0; f < features; f++)
        score += (double)x->f32[i * features + f] * w->f32[f];
      best = score > largest ? i : best;
      largest = fmax(largest, score);
    }
    right += best == from ? end - from : 0;
  }
  out->f32[0] = (float)((double)right / (double)samples);
  return out;
}

// The last sample, the only one of its batch, counted for every class.
static Array *last_of_each_class(Case *c) {
  const int64_t last = given(c, "x")->shape.size[0] - 1, classes = given(c, "weight")->shape.size[1];
  double *right = new_array(c, FY_FLOAT64, shape(classes))->f64, *all = new_array(c, FY_FLOAT64, shape(classes))->f64;
  double *none = new_array(c, FY_FLOAT64, shape(classes))->f64;
  Array *out = new_array(c, FY_FLOAT32, shape(classes));
  count(c, "labels", PLAIN_COUNTS, 0, last, right, all);
  count(c, "labels", PLAIN_COUNTS, last, last + 1, right, none);
  for (int64_t k = 0; k < classes; k++)
    out->f32[k] = (float)(right[k] / (all[k] + 1));
  return out;
}

static void suspects(Case *c) {
  if (given(c, "x")->shape.size[0] % (int64_t)given_number(c, "batch size") == 1)
    suspect_array(c, "shares", last_of_each_class(c), &ONE_SQUEEZED);
  if (given(c, "weight")->shape.size[1] == 1)
    suspect_array(c, "shares", squeezed(c), &SQUEEZED);
  static const struct {
    How how;
    const Mistake *mistake;
  } known[] = {{ALL_ONE, &OVERALL},    {OVER_ALL, &OF_ALL},   {PRECISION, &BY_GUESS},  {BATCH_MEANS, &OF_BATCHES},
               {NO_LAST, &LAST_BATCH}, {ZERO, &NOT_A_NUMBER}, {PLAIN_COUNTS, &COUNTS}, {SIGMOID, &SQUASHED}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    suspect_array(c, "shares", shares(c, known[i].how), known[i].mistake);
  if (given_number(c, "called before and again") == 1)
    suspect_array(c, "shares", shares(c, BOTH_CALLS), &KEPT);
  suspect_that(c, got_number(c, "passes in training mode") > 0, &TRAINING);
}

// The call with two more classes, which are neither labels nor predictions.
static bool judge_wider(Case *c) {
  const Array *some = shares(c, PER_CLASS);
  Array *wanted = new_array(c, FY_FLOAT32, shape(some->count + 2));
  for (int64_t k = 0; k < wanted->count; k++)
    wanted->f32[k] = k < some->count ? some->f32[k] : NAN;
  Array *zero = new_array(c, FY_FLOAT32, wanted->shape);
  for (int64_t k = 0; k < some->count; k++)
    zero->f32[k] = some->f32[k];
  suspect_array(c, "shares of two classes more", zero, &NOT_A_NUMBER);
  suspect_that(c, got_shaped(c, "shares of two classes more", some->shape) != NULL, &CLASSES_KEPT);
  return expect_array(c, "shares of two classes more", wanted, 1e-6);
}

static void judge(Case *c) {
  const char *device = given_text(c, "device");
  int64_t batch = (int64_t)given_number(c, "batch size"), batches = (given(c, "x")->shape.size[0] + batch - 1) / batch;
  suspects(c);
  if (got(c, "shares")) // then the error came in the call with more classes
    suspect_error(c, "must match the size of tensor", &CLASSES_KEPT);
  if (!expect_array(c, "shares", shares(c, PER_CLASS), 1e-6) || !expect_device(c, "shares", device, &ON_CPU) ||
      (given_number(c, "called before and again") == 1 && !judge_wider(c)))
    return;
  expect_exactly(c, "forward passes in training mode", got_count(c, "passes in training mode"), 0, &TRAINING);
  expect_that(c, got_number(c, "modes left") == 1, &MODE,
              "before the call, the model was in %s mode; afterward, it or its submodule was in the other mode",
              given_number(c, "training") == 1 ? "training" : "evaluation");
  // What is read after the loop is fine.
  expect_at_most(c, "copies from device to host", counts(c)->device_to_host, batches - 1, &READS);
  expect_at_most(c, "host synchronizations", counts(c)->synchronizations, batches - 1, &WAITS);
  expect_that(c, got_number(c, "graphs") == 0 && !(got(c, "shares")->flags & ARRAY_REQUIRES_GRAD), &GRAPH,
              "a forward pass was recorded for autograd");
  expect_at_most(c, "copies from host to device", counts(c)->host_to_device, 2 * batches + batches / 2, &COPIES);
}

EXERCISE = {
    .id = "10_1_accuracy_per_class",
    .title = "Accuracy per class",
    .after_pass = "Per-class accuracy (recall): two counts per class, accumulated on the device and divided once.",
    .kind = "write",
    .chapter = 10,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = CLASSES,
    .stars = {{"no host wait for the copies to the device", {&WAITS}},
              {"no autograd graph, two copies to the device per batch", {&GRAPH, &COPIES}}},
    .hints = {"Keep two counts per class on the device: its samples, and the correct predictions among them.",
              "Compare the labels as a column (N, 1) with the class numbers (classes): fy_eq returns a one-hot table "
              "of shape (N, classes). Its sum over dimension 0 counts the labels.",
              "fy_mul(one_hot, fy_unsqueeze(fy_eq(guess, labels), 1)) marks the correct predictions. Sum it in the "
              "same way, and divide after the loop."},
    .functions = {"accuracy_per_class"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "one class", .ask = ask_single, .judge = judge},
              {.name = "a class without samples", .ask = ask_empty, .judge = judge},
              {.name = "a last batch of one sample", .ask = ask_rest_of_one, .judge = judge},
              {.name = "many classes", .ask = ask_many, .judge = judge},
              {.name = "two thousand classes", .ask = ask_thousands, .judge = judge},
              {.name = "large scores", .ask = ask_large, .judge = judge},
              {.name = "scores close together", .ask = ask_near, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
