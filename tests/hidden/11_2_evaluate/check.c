// SPDX-License-Identifier: MIT
// Exercise 11.2: evaluation without a graph. The driver's model records the state that it is called in.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/11_memory.md#memory-held-by-the-autograd-graph"
#define EVALUATION "docs/09_training_a_classifier.md#evaluation"

static const Mistake RECORDED = {"autograd graph recorded",
                                 "The outputs require a gradient, so a graph keeps the activations of the batch alive. "
                                 "Put fy_no_grad { ... } around the loop.",
                                 LESSON};
static const Mistake TRAINING_MODE = {
    "forward pass in training mode",
    "In training mode, dropout is active, and BatchNorm uses and updates batch statistics. Call fy_eval(model) first.",
    EVALUATION};
static const Mistake LEFT_IN_EVAL = {
    "model left in evaluation mode",
    "The model was in training mode before the call. Restore the mode with fy_set_training_of(model, was_training).",
    EVALUATION};
static const Mistake SWITCHED_TO_TRAINING = {
    "model switched to training mode",
    "The model was in evaluation mode before the call. Restore that mode, and do not always set training mode.",
    EVALUATION};
static const Mistake RECORDING_LEFT_OFF = {"gradients left disabled",
                                           "After your call, autograd is disabled for the caller. Use fy_no_grad { ... "
                                           "}, which restores the setting at its end.",
                                           LESSON};
static const Mistake RECORDING_SWITCHED_ON = {"gradients switched on",
                                              "The caller had disabled autograd, and your function enabled it. Restore "
                                              "the caller's setting, or use fy_no_grad { ... }, which does so.",
                                              LESSON};
static const Mistake MEAN_OF_MEANS = {"mean of batch means",
                                      "The last batch is smaller, but you gave it the same weight. Multiply the mean "
                                      "of each batch by its number of samples, and divide the sum by N.",
                                      "docs/11_memory.md#four-ways-to-use-less-memory"};
static const Mistake LAST_LEFT_OUT = {"last batch dropped",
                                      "N is not a multiple of the batch size. Include the last, smaller batch.",
                                      "docs/07_pitfalls.md#batches-instead-of-single-samples"};
static const Mistake WHOLE = {
    "batch size exceeded",
    "More than `batch` samples went through the model in one forward pass. Split x into batches.",
    "docs/07_pitfalls.md#out-of-memory-and-gradient-accumulation"};
static const Mistake STAYS = {"tensors of every batch kept alive",
                              "No graph is recorded, but tensors of every batch are still alive after it. Put fy_scope "
                              "{ ... } around each batch.",
                              "docs/11_memory.md#tensor-lifetime"};
static const Mistake FROZEN = {"requires_grad left off",
                               "Some parameters required a gradient before the call and no longer do, so training "
                               "cannot continue. Restore requires_grad, or use fy_no_grad instead.",
                               LESSON};
static const Mistake COUNTED = {"count instead of a share", "Divide the number of correct samples by N.", EVALUATION};
static const Mistake PERCENT = {"percent instead of a share", "Return the share as a number from 0 to 1.", EVALUATION};
static const Mistake WHOLE_NUMBERS = {"share rounded to 0",
                                      "The share is 0, but some samples are correct. Before you divide two int64_t "
                                      "values, convert one of them to double.",
                                      EVALUATION};
static const Mistake UNDERFLOW = {"log of a softmax that underflows",
                                  "If the outputs are far apart, softmax underflows to 0, and the logarithm of 0 is "
                                  "not finite. Call fy_cross_entropy on the outputs themselves.",
                                  "docs/09_training_a_classifier.md#evaluation"};
static const Mistake DRAWN = {
    "global random generator used",
    "Your function drew from the global random generator, which changes dropout and shuffling in later training. A "
    "loader draws its seed from that generator unless you set .seed.",
    EVALUATION};
static const Mistake SUMMED = {"sum instead of the mean", "*loss is the sum over all samples. Divide it by N.",
                               EVALUATION};
static const Mistake TOO_LONG = {"last batch out of range",
                                 "The last batch ends at N. It has the smaller of batch and N - i samples.",
                                 "docs/07_pitfalls.md#batches-instead-of-single-samples"};
static const Mistake NO_LOSS = {"loss not returned", "Store the mean loss in *loss.", EVALUATION};
static const Mistake THAWED = {"frozen parameter unfrozen",
                               "A parameter that required no gradient before the call requires one now. Restore each "
                               "parameter's setting, or use fy_no_grad instead.",
                               EVALUATION};
static const Mistake CHANGED = {
    "model modified", "Parameters, buffers or gradients changed. Evaluation must not change them.", EVALUATION};

// ---- asking ----------------------------------------------------------------------------------------------------------

// The inputs of a batch are more than 512 bytes, the allocator's granularity, so inputs that are kept show.
static void ask_with(Case *c, const char *device, int64_t count, int64_t batch, bool gaps, bool training,
                     bool recording, double bias) {
  int64_t features = draw_int(c, 14, 19), hidden = draw_odd(c, 61, 79), classes = draw_int(c, 3, 5);
  Give parameter = {.device = device, .requires_grad = true}, plain = {.device = device};
  give_number(c, "batch", (double)batch);
  give_number(c, "training", training);
  give_number(c, "recording", recording);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(count, features), -1, 1),
             (Give){.device = device, .strided = gaps});
  give_array(c, "labels", draw_array(c, FY_INT64, shape(count), 0, (double)(classes - 1)), plain);
  give_array(c, "w1", draw_array(c, FY_FLOAT32, shape(hidden, features), -1, 1), parameter);
  give_array(c, "mean", draw_array(c, FY_FLOAT32, shape(hidden), -1, 1), plain);
  give_array(c, "variance", draw_array(c, FY_FLOAT32, shape(hidden), 0.5, 2), plain);
  give_array(c, "w2", draw_array(c, FY_FLOAT32, shape(classes, hidden), -0.5, 0.5), gaps ? plain : parameter); // frozen
  give_number(c, "frozen", gaps);
  Array *b2 = draw_array(c, FY_FLOAT32, shape(classes), -bias, bias);
  b2->f32[0] = (float)-bias; // as far apart as may be, in every run
  b2->f32[classes - 1] = (float)bias;
  give_array(c, "b2", b2, parameter);
}

static void ask_on(Case *c, const char *device, bool gaps, bool training, bool recording) {
  int64_t batch = draw_odd(c, 17, 27);
  ask_with(c, device, batch * draw_int(c, 3, 5) + draw_int(c, 3, batch / 2), batch, gaps, training, recording, 1);
}
static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", false, true, true);
}
static void ask_cpu(Case *c) {
  ask_on(c, "cpu", false, true, true);
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", false, true, true);
}
static void ask_gaps(Case *c) {
  int64_t batch = draw_odd(c, 17, 27);
  ask_with(c, "cuda:0", batch * draw_int(c, 3, 5) + 1, batch, true, true, true, 1); // the last batch has one sample
}
static void ask_evaluating(Case *c) { // the last batch has one sample fewer than the others
  int64_t batch = draw_odd(c, 17, 27);
  ask_with(c, "cuda:0", batch * draw_int(c, 3, 5) - 1, batch, false, false, true, 1);
}
static void ask_not_recording(Case *c) {
  ask_on(c, "cuda:0", false, true, false);
}
static void ask_whole(Case *c) {
  int64_t batch = draw_odd(c, 17, 27);
  ask_with(c, "cuda:0", batch * draw_int(c, 3, 5), batch, false, true, true, 1);
}
static void ask_few(Case *c) {
  ask_with(c, "cuda:0", draw_int(c, 7, 15), 64, false, true, true, 1);
}
static void ask_many(Case *c) {
  int64_t batch = draw_odd(c, 11, 15);
  ask_with(c, "cuda:0", batch * draw_int(c, 50, 60) + draw_int(c, 2, 5), batch, false, true, true, 1);
}
// Batches whose inputs and activations are large against their outputs.
static void ask_large_batches(Case *c) {
  int64_t batch = draw_odd(c, 151, 199);
  ask_with(c, "cuda:0", batch * draw_int(c, 4, 5) + draw_int(c, 3, 50), batch, false, true, true, 1);
}
static void ask_sure(Case *c) { // outputs so far apart that their softmax is exactly 0 and 1
  int64_t batch = draw_odd(c, 17, 27);
  ask_with(c, "cuda:0", batch * 2 + 5, batch, false, true, true, 300);
}

// ---- the evaluation in plain loops -------------------------------------------------------------------------------------

typedef struct Numbers {
  double share, loss;
  double ties; // the share of samples whose two largest outputs are equal within rounding
} Numbers;

// The outputs of one sample.
static void outputs_of(const Case *c, int64_t sample, double *output) {
  const Array *x = given(c, "x"), *w1 = given(c, "w1"), *w2 = given(c, "w2");
  int64_t features = x->shape.size[1], hidden = w1->shape.size[0], classes = w2->shape.size[0];
  for (int64_t o = 0; o < classes; o++)
    output[o] = given(c, "b2")->f32[o];
  for (int64_t k = 0; k < hidden; k++) {
    double h = 0;
    for (int64_t j = 0; j < features; j++)
      h += (double)w1->f32[k * features + j] * x->f32[sample * features + j];
    h = (h - given(c, "mean")->f32[k]) / sqrt(given(c, "variance")->f32[k] + 1e-5);
    for (int64_t o = 0; o < classes; o++)
      output[o] += h * w2->f32[o * hidden + k];
  }
}

static Numbers of_samples(const Case *c, int64_t from, int64_t to) {
  int64_t classes = given(c, "w2")->shape.size[0], right = 0, ties = 0;
  double loss = 0, output[8];
  for (int64_t i = from; i < to; i++) {
    int64_t label = given(c, "labels")->i64[i], best = 0;
    double sum = 0;
    outputs_of(c, i, output);
    for (int64_t o = 0; o < classes; o++) {
      best = output[o] > output[best] ? o : best;
      sum += exp(output[o]);
    }
    for (int64_t o = 0; o < classes; o++)
      if (o != best && output[best] - output[o] < 1e-5 * (1 + fabs(output[best]))) {
        ties++;
        break;
      }
    right += best == label;
    loss += log(sum) - output[label];
  }
  const double count = (double)(to - from);
  return (Numbers){(double)right / count, loss / count, (double)ties / count};
}

static Numbers mean_of_means(const Case *c) {
  int64_t count = given(c, "x")->shape.size[0], batch = (int64_t)given_number(c, "batch"),
          batches = (count + batch - 1) / batch;
  Numbers mean = {0, 0, 0};
  for (int64_t i = 0; i < count; i += batch) {
    Numbers part = of_samples(c, i, i + batch < count ? i + batch : count);
    mean.share += part.share / (double)batches;
    mean.loss += part.loss / (double)batches;
  }
  return mean;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-5 * fmax(1, fabs(b));
}

static void suspects(Case *c, Numbers want) {
  int64_t count = given(c, "x")->shape.size[0], batch = (int64_t)given_number(c, "batch");
  double share = got_number(c, "share"), loss = got_number(c, "loss"), calls = got_number(c, "calls");
  suspect_sure(c, got_number(c, "calls in training mode") > 0, &TRAINING_MODE);
  if (count % batch && count > batch) {
    Numbers means = mean_of_means(c), whole = of_samples(c, 0, count - count % batch);
    double rows = (double)(count - count % batch) / (double)count;
    const bool right = near(loss, want.loss);
    suspect_that(c, !right && (near(loss, whole.loss) || near(loss, whole.loss * rows)), &LAST_LEFT_OUT);
    suspect_that(c, right ? near(share, means.share) && !near(share, want.share) : near(loss, means.loss),
                 &MEAN_OF_MEANS);
  }
  suspect_error(c, "exceeds", &TOO_LONG);
  if (count != 100) { // then count and percent are the same
    suspect_that(c, near(share, want.share * (double)count) && near(loss, want.loss), &COUNTED);
    suspect_that(c, near(share, want.share * 100) && near(loss, want.loss), &PERCENT);
  }
  suspect_that(c, share == 0 && want.share > 0 && calls > 0 && near(loss, want.loss), &WHOLE_NUMBERS);
  suspect_that(c, calls > 0 && !isfinite(loss) && given(c, "b2")->f32[0] < -100, &UNDERFLOW);
  suspect_that(c, near(share, want.share) && count > 1 && near(loss, want.loss * (double)count), &SUMMED);
  suspect_that(c, calls > 0 && near(share, want.share) && (loss == 0 || loss == -1), &NO_LOSS);
}

static bool same(const Case *c, const char *name) {
  const Array *before = given(c, name), *after = got_shaped(c, name, before->shape);
  return after && memcmp(after->f32, before->f32, (size_t)before->count * sizeof(float)) == 0;
}

// In training mode it came with a gradient of 3s, otherwise with none.
static bool same_gradient(const Case *c) {
  const Array *after = got_shaped(c, "w1.grad", given(c, "w1")->shape);
  bool same = given_number(c, "training") == 1 ? after && after->dtype == FY_FLOAT32 : !got(c, "w1.grad");
  for (int64_t i = 0; same && after && i < after->count; i++)
    same = after->f32[i] == 3;
  return same;
}

static bool judge_afterwards(Case *c) {
  bool training = given_number(c, "training") == 1, recording = given_number(c, "recording") == 1;
  bool frozen = given_number(c, "frozen") == 1;
  return expect_exactly(c, "modules (of 3) in training mode afterward", got_count(c, "training afterwards"),
                        training ? 3 : 0, training ? &LEFT_IN_EVAL : &SWITCHED_TO_TRAINING) &&
         expect_exactly(c, "fy_is_grad_enabled() afterward", got_count(c, "recording afterwards"), recording,
                        recording ? &RECORDING_LEFT_OFF : &RECORDING_SWITCHED_ON) &&
         expect_that(c, same(c, "w1") && same(c, "w2") && same(c, "mean") && same_gradient(c), &CHANGED,
                     "parameters, buffers and gradients: expected unchanged") &&
         expect_that(c,
                     got(c, "w1")->flags & ARRAY_REQUIRES_GRAD && (frozen || got(c, "w2")->flags & ARRAY_REQUIRES_GRAD),
                     &FROZEN, "the parameters: expected to require gradients as before") &&
         expect_that(c, !frozen || !(got(c, "w2")->flags & ARRAY_REQUIRES_GRAD), &THAWED,
                     "the frozen parameter: expected to require no gradient, as before");
}

static void judge_memory(Case *c) {
  const Array *bytes = got(c, "bytes");
  if (!expect_that(c, bytes && bytes->dtype == FY_INT64, NULL, "the model was not called"))
    return;
  // The outputs may be kept, in blocks of 512 bytes, and a number or two with them.
  const int64_t rows = (int64_t)given_number(c, "batch"), outputs = 4 * rows * given(c, "w2")->shape.size[0];
  for (int64_t i = 2; i < bytes->count; i++)
    if (!expect_at_most(c, "additional bytes in use at the start of a forward pass, compared with the second pass",
                        bytes->i64[i] - bytes->i64[1], (outputs + 1536) * (i - 1), &STAYS))
      return;
}

static void judge(Case *c) {
  Numbers want = of_samples(c, 0, given(c, "x")->shape.size[0]);
  suspects(c, want);
  const bool tie = fabs(got_number(c, "share") - want.share) < want.ties + 1e-9;
  const double share = want.ties > 0 && tie ? got_number(c, "share") : want.share;
  if (!expect_number(c, "loss", want.loss, 1e-4) || !expect_number(c, "share", share, 1e-5))
    return;
  if (!expect_exactly(c, "forward passes in training mode", got_count(c, "calls in training mode"), 0,
                      &TRAINING_MODE) ||
      !expect_exactly(c, "outputs with a graph", got_count(c, "outputs with a graph"), 0, &RECORDED) ||
      !expect_at_most(c, "samples in a forward pass", got_count(c, "most rows"), (int64_t)given_number(c, "batch"),
                      &WHOLE))
    return;
  if (judge_afterwards(c))
    judge_memory(c);
  expect_exactly(c, "changes of the global random generator", got_count(c, "drawn"), 0, &DRAWN);
}

EXERCISE = {
    .id = "11_2_evaluate",
    .title = "Evaluation without a graph",
    .after_pass = "Evaluation under no_grad keeps no activations, and leaves model, mode and autograd as they were.",
    .kind = "write",
    .chapter = 11,
    .level = LEVEL_EASY,
    .minutes = 20,
    .lesson = "docs/11_memory.md#memory-held-by-the-autograd-graph",
    .stars = {{"the global random generator is not used", {&DRAWN}}},
    .hints = {"Save model->training, and call fy_eval(model) before the loop. At the end, restore the mode with "
              "fy_set_training_of.",
              "Put fy_no_grad { ... } around the loop. It records no graph, and restores the autograd setting at its "
              "end. Put fy_scope { ... } around each batch to free its tensors.",
              "fy_cross_entropy returns the mean over the n samples of the batch. Add fy_item(loss) * n, and divide by "
              "N at the end. fy_eq(fy_argmax_dim(output, 1, false), labels) marks the correct samples."},
    .functions = {"evaluate"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "whole batches only", .ask = ask_whole, .judge = judge},
              {.name = "fewer samples than a batch", .ask = ask_few, .judge = judge},
              {.name = "a non-contiguous input, a frozen parameter", .ask = ask_gaps, .judge = judge},
              {.name = "in evaluation mode already", .ask = ask_evaluating, .judge = judge},
              {.name = "called with autograd off", .ask = ask_not_recording, .judge = judge},
              {.name = "outputs far apart", .ask = ask_sure, .judge = judge},
              {.name = "many batches", .ask = ask_many, .judge = judge},
              {.name = "large batches", .ask = ask_large_batches, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
