// SPDX-License-Identifier: MIT
// Exercise 16.2: the step of all ranks' samples.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define LESSON "docs/16_distributed.md#why-the-result-is-the-same"
#define SENT "docs/16_distributed.md#gradient-buckets-and-all-reduce"

static const Mistake NOTHING = {"optimizer step missing", "The parameters are unchanged. Call fy_step.", LESSON};
static const Mistake OWN = {
    "gradients not reduced over the ranks",
    "Each rank stepped with its own gradient, so the models drift apart. Sum the gradients over "
    "the ranks first.",
    LESSON};
static const Mistake SUM = {
    "sum instead of mean over the ranks",
    "The loss is a mean over the samples of all ranks. Divide the sum over the ranks by the number of ranks.", LESSON};
static const Mistake PARTS = {"loss not divided by the number of parts",
                              "Each part's loss is a mean over the part, so their sum is `parts` times the mean over "
                              "the batch. Divide by `parts`.",
                              SENT};
static const Mistake RATE = {
    "learning rate scaled instead of the gradients",
    "If you change the learning rate, you also scale weight decay. Divide the gradients instead.", LESSON};
static const Mistake LAST = {"gradients of earlier parts cleared",
                             "Clear the gradients once, before the first part, so that all parts accumulate.", SENT};
static const Mistake BEFORE = {"gradients not cleared",
                               "Your gradients were added to those of an earlier step. Clear the gradients first.",
                               "docs/05_model_moves.md#training-steps"};
static const Mistake AGAIN = {"accumulated gradients reduced again",
                              "You called all_reduce after every part, so it summed the gradients of earlier parts "
                              "again. Call it once, after all parts.",
                              SENT};
static const Mistake EACH = {"all-reduce after every part",
                             "Each part sends all gradients over the network. Accumulate first, and reduce once.",
                             SENT};
static const Mistake MORE = {
    "redundant all-reduce",
    "You passed more elements to all_reduce than the gradients have. Reduce the gradients only.", SENT};
static const Mistake WHOLE = {
    "more than one part at once",
    "A forward pass had more rows than one part, so more activations were in memory. Run one part at a time.", SENT};
static const Mistake TWICE = {"redundant forward pass", "Run each row through the model once.", SENT};
static const Mistake EARLY = {
    "step before the all-reduce",
    "The ranks stepped with their own gradients and reduced them afterward. Reduce the gradients first, then step.",
    LESSON};
static const Mistake UNUSED = {"reduced gradient not used",
                               "all_reduce works in place on the tensor that you pass, but the step used the rank's "
                               "own gradients. Pass the gradients themselves, or copy the sums into them.",
                               LESSON};
static const Mistake STUCK = {
    "deadlock",
    "A rank waits in all_reduce for a rank that has returned. All ranks must call it the same number of times.",
    "docs/16_distributed.md#failures-in-distributed-programs"};
static const Mistake SIZES = {
    "different sizes in a collective",
    "The ranks called all_reduce with tensors of different sizes. Use the same order of parameters on all ranks.",
    "docs/16_distributed.md#failures-in-distributed-programs"};

// ---- asking

static void ask(Case *c, int64_t ranks, int64_t parts) {
  const int64_t rows = parts * draw_int(c, 3, 6), in = draw_int(c, 4, 7), out = draw_int(c, 2, 3);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(ranks, rows, in), -1, 1), (Give){0});
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(ranks, rows, out), 1, 3), (Give){0});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), (Give){0});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){0});
  give_array(c, "shift", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){0});
  give_number(c, "parts", (double)parts);
}
// As many parts as ranks would make two mistakes look alike.
static void ask_two(Case *c) {
  ask(c, 2, draw_int(c, 3, 4));
}
static void ask_four(Case *c) {
  ask(c, 4, 1 + 2 * draw_int(c, 1, 2));
}
static void ask_whole(Case *c) {
  ask(c, 3, 1);
}

// ---- the step in plain loops

typedef struct Step {
  Array *weights, *biases, *shifts; // of all ranks
} Step;

// Rows [first, last) of ranks [low, high), each gradient times `scale`, after one of 7 for `before`.
typedef struct How {
  int64_t first, last;
  bool own, before;
  double scale, rate;
} How;

static Step step_of(Case *c, How how) {
  const Array *x = given(c, "x"), *target = given(c, "target"), *weight = given(c, "weight"), *bias = given(c, "bias"),
              *shift = given(c, "shift");
  const int64_t ranks = x->shape.size[0], rows = x->shape.size[1], in = x->shape.size[2], out = bias->count;
  Step step = {new_array(c, FY_FLOAT32, shape(ranks, out, in)), new_array(c, FY_FLOAT32, shape(ranks, out)),
               new_array(c, FY_FLOAT32, shape(ranks, out))};
  for (int64_t rank = 0; rank < ranks; rank++)
    for (int64_t o = 0; o < out; o++) {
      double dw[16] = {0}, db = 0;
      for (int64_t r = how.own ? rank : 0; r < (how.own ? rank + 1 : ranks); r++)
        for (int64_t i = how.first; i < how.last; i++) {
          const float *row = x->f32 + (r * rows + i) * in;
          double error = (double)bias->f32[o] + shift->f32[o] - target->f32[(r * rows + i) * out + o];
          for (int64_t k = 0; k < in; k++)
            error += (double)row[k] * weight->f32[o * in + k];
          for (int64_t k = 0; k < in; k++)
            dw[k] += 2 * error * row[k];
          db += 2 * error;
        }
      const double scale = how.scale / (double)((how.last - how.first) * out), before = how.before ? 7 : 0;
      for (int64_t k = 0; k < in; k++)
        step.weights->f32[(rank * out + o) * in + k] =
            (float)(weight->f32[o * in + k] - how.rate * (dw[k] * scale + before + 0.25 * weight->f32[o * in + k]));
      step.biases->f32[rank * out + o] = (float)(bias->f32[o] - how.rate * (db * scale + before + 0.25 * bias->f32[o]));
      step.shifts->f32[rank * out + o] =
          (float)(shift->f32[o] - how.rate * (db * scale + before + 0.25 * shift->f32[o]));
    }
  return step;
}

static void suspects(Case *c, int64_t rows, int64_t ranks, int64_t parts) {
  const double mean = 1 / (double)ranks;
  const int64_t part = rows / parts;
  const Array *weight = given(c, "weight"), *x = given(c, "x");
  Array *same = new_array(c, FY_FLOAT32, shape(ranks, weight->shape.size[0], x->shape.size[2]));
  for (int64_t i = 0; i < same->count; i++)
    same->f32[i] = weight->f32[i % weight->count];
  suspect_array(c, "weights", same, &NOTHING);
  const Step own = step_of(c, (How){0, rows, true, false, 1, 0.5}),
             own_mean = step_of(c, (How){0, rows, true, false, mean, 0.5});
  const bool summed = got_count(c, "elements") > 0, early = got_count(c, "stepped") > 0;
  const Mistake *own_step = early ? &EARLY : summed ? &UNUSED : &OWN;
  suspect_array(c, "weights", own.weights, own_step);
  suspect_array(c, "weights", own_mean.weights, own_step);
  suspect_array(c, "weights", step_of(c, (How){0, rows, false, false, 1, 0.5}).weights, &SUM);
  if (parts > 1)
    suspect_array(c, "weights", step_of(c, (How){0, rows, false, false, mean * (double)parts, 0.5}).weights, &PARTS);
  suspect_array(c, "weights", step_of(c, (How){0, rows, false, false, 1, 0.5 * mean}).weights, &RATE);
  if (parts > 1)
    suspect_array(c, "weights",
                  step_of(c, (How){0, rows, false, false, (double)parts, 0.5 * mean / (double)parts}).weights, &RATE);
  suspect_array(c, "weights", step_of(c, (How){rows - part, rows, false, false, mean, 0.5}).weights, &LAST);
  suspect_array(c, "weights", step_of(c, (How){rows - part, rows, false, false, mean / (double)parts, 0.5}).weights,
                &LAST);
  for (int k = 0; k < 2; k++) { // 7 of each rank, summed and perhaps divided
    Step before = step_of(c, (How){0, rows, false, true, mean, 0.5});
    for (int64_t i = 0; i < before.weights->count; i++)
      before.weights->f32[i] -= k ? (float)(0.5 * 7 * (double)(ranks - 1)) : 0;
    suspect_array(c, "weights", before.weights, &BEFORE);
  }
}

static void judge(Case *c) {
  const Array *x = given(c, "x"), *weight = given(c, "weight"), *bias = given(c, "bias");
  const int64_t ranks = x->shape.size[0], rows = x->shape.size[1], parts = (int64_t)given_number(c, "parts");
  if (!expect_that(c, got_text(c, "raised")[0] == '\0', NULL, "a rank raised: %s", got_text(c, "raised")) ||
      !expect_that(c, got_count(c, "other size") == 0, &SIZES, "the ranks' tensors had different sizes") ||
      !expect_that(c, got_count(c, "stuck") == 0, &STUCK, "a rank waited in all_reduce for a rank that had returned"))
    return;
  suspects(c, rows, ranks, parts);
  const int64_t all = weight->count + 2 * bias->count, elements = got_count(c, "elements");
  suspect_that(c, parts > 1 && elements == parts * all, &AGAIN);
  const Step want = step_of(c, (How){0, rows, false, false, 1 / (double)ranks, 0.5});
  if (!expect_array(c, "weights", want.weights, 1e-4) || !expect_array(c, "biases", want.biases, 1e-4) ||
      !expect_array(c, "shifts", want.shifts, 1e-4))
    return;
  if (!expect_exactly(c, "parameters changed before the all-reduce", got_count(c, "stepped"), 0, &EARLY))
    return;
  expect_at_most(c, "elements that a rank passed to all_reduce", elements, all * 3 / 2,
                 parts > 1 && elements == parts * all ? &EACH : &MORE);
  if (parts > 1)
    expect_at_most(c, "rows in a forward pass", got_count(c, "largest"), rows / parts, &WHOLE);
  expect_at_most(c, "rows that went through the model", got_count(c, "rows"), rows, &TWICE);
}

EXERCISE = {
    .id = "16_2_ddp_by_hand",
    .title = "DDP by hand",
    .after_pass =
        "Data-parallel training averages gradients: the mean over the ranks is the gradient of the whole batch.",
    .kind = "write",
    .chapter = 16,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = LESSON,
    .stars = {{"all_reduce gets each gradient once, not once per part", {&EACH, &MORE}},
              {"each forward pass has the rows of one part, and each row runs once", {&WHOLE, &TWICE}}},
    .hints = {"Each rank's loss is a mean over its own samples. All ranks have the same number of samples, so the mean "
              "over all samples is the sum of these means, divided by `ranks`. The same is true for the parts.",
              "fy_backward adds to the gradients. Clear them once at the beginning, and sum them over the ranks once "
              "at the end.",
              "After the loop over the parts, call all_reduce(fy_grad(p)) for each p of fy_parameters(model), then "
              "fy_step."},
    .functions = {"ddp_step"},
    .tests = {{"one part", ask_whole, .judge = judge},
              {"two ranks", ask_two, .judge = judge},
              {"four ranks", ask_four, .judge = judge}},
};
