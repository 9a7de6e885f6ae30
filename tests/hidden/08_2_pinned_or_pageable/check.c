// SPDX-License-Identifier: MIT
// Exercise 8.2: the same epoch twice. The losses are worked out in the order in which the samples were asked for.
#include "exercise.h"
#include <stdio.h>
#include <string.h>

#define PINNED "docs/08_data_pipeline.md#pinned-against-pageable-memory"

static const Mistake SEED = {"the seed left out",
                             "The order of the samples is the loaders' seed's, and that is an argument: .seed = seed.",
                             "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake WENT_ON = {"the second epoch goes on from the first",
                                "The weights have learnt in the first epoch. Keep copies, and put them back before the "
                                "second.",
                                "docs/09_training_a_classifier.md#interrupted-and-resumed"};
static const Mistake MOMENTUM = {"the optimizer of the first epoch",
                                 "An optimizer with momentum remembers its steps. The second epoch needs a new one.",
                                 "docs/09_training_a_classifier.md#interrupted-and-resumed"};
static const Mistake OTHER_ORDER = {"another order in the second epoch",
                                    "The two epochs had their samples in different orders: a loader's next epoch has "
                                    "another one, and so has another seed.",
                                    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake IN_SEQUENCE = {"not shuffled", "The samples came as they lie in the data set: .shuffle = true.",
                                    "docs/08_data_pipeline.md#the-order-of-an-epoch"};
static const Mistake NEVER = {"pageable both times",
                              "Nothing came from pinned memory: .pin_memory = true for the second.", PINNED};
static const Mistake PARTLY = {"only a part of a batch pinned",
                               "Inputs and targets are both to come from pinned memory: .pin_memory = true pins both.",
                               PINNED};
static const Mistake ALWAYS = {"pinned both times", "The first epoch is to have its batches in ordinary memory.",
                               PINNED};
static const Mistake SWAPPED = {"the two exchanged", "First the pageable epoch, then the pinned one.", PINNED};
static const Mistake BLOCKING = {
    "pinned, and waited for",
    "From pinned memory a copy can go on while the host does, but only where it is told so: "
    ".non_blocking = true.",
    PINNED};
static const Mistake FETCHED = {"the host waits in the loop",
                                "A loss was fetched from the device at each batch. Leave the losses there.",
                                "docs/07_pitfalls.md#waiting-in-a-loop"};
static const Mistake GRAPHS = {"the losses keep their graphs",
                               "A loss that is kept with its graph keeps the whole step in memory: fy_detach.",
                               "docs/11_memory.md#what-a-graph-keeps-alive"};
static const Mistake EARLIER = {
    "gradients of an earlier step",
    "The model came with gradients, and the first step added to them: clear them before backward.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake LAST = {"the last batch left out", "The last batch may be smaller, and is a batch all the same.",
                             "docs/08_data_pipeline.md#from-samples-to-batches"};

static const Mistake GIVEN_BACK = {
    "the weights of the beginning",
    "The model has the weights that it came with. It is to be left as the second epoch has "
    "trained it.",
    PINNED};

static const Mistake GENERATOR = {"the process's generator used",
                                  "Random numbers that the caller draws after the call are others than without it: the "
                                  "process's generator was seeded, or drawn from. A loader with .seed does neither.",
                                  "docs/08_data_pipeline.md#the-order-of-an-epoch"};

static const Mistake KEPT = {"kept from an earlier call",
                             "A second call, on the model as the first had left it, began an epoch with what was kept "
                             "in the first call. What is static keeps its value.",
                             "docs/09_training_a_classifier.md#interrupted-and-resumed"};

static void ask_on(Case *c, const char *device, bool whole) {
  int64_t batch = draw_int(c, 4, 7), samples = batch * draw_int(c, 5, 8) + (whole ? 0 : draw_int(c, 2, 3));
  int64_t in = draw_int(c, 2, 5), out = draw_int(c, 2, 3);
  give_array(c, "data", draw_array(c, FY_FLOAT32, shape(samples, in), -1, 1), (Give){0});
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(samples, out), 1, 4), (Give){0});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), (Give){0});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){0});
  give_text(c, "device", device);
  give_number(c, "batch size", (double)batch);
  give_number(c, "seed", (double)draw_int(c, 1, 1 << 20));
}
static void ask_smaller(Case *c) {
  ask_on(c, "cuda:0", false);
}
static void ask_whole(Case *c) {
  ask_on(c, "cuda:0", true);
}
static void ask_left(Case *c) {
  ask_on(c, "cuda:0", false);
  give_number(c, "left", (double)draw_int(c, 2, 4)); // in every gradient
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", false);
}

static int64_t samples_of(const Case *c) {
  return given(c, "data")->shape.size[0];
}
static int64_t batches_of(const Case *c) {
  int64_t batch = (int64_t)given_number(c, "batch size");
  return (samples_of(c) + batch - 1) / batch;
}

// ---- training in plain loops -----------------------------------------------------------------------------------------------

typedef struct Model {
  double weight[16], bias[4], weight_speed[16], bias_speed[4];
  double left; // in every gradient that nobody has cleared
} Model;

static double step(Case *c, Model *m, const int64_t *order, int64_t from, int64_t to) {
  const Array *x = given(c, "data"), *y = given(c, "target");
  int64_t in = x->shape.size[1], out = y->shape.size[1];
  double loss = 0, dw[16] = {0}, db[4] = {0}, scale = 1.0 / (double)((to - from) * out);
  for (int64_t i = from; i < to; i++)
    for (int64_t j = 0; j < out; j++) {
      const float *row = x->f32 + order[i] * in;
      double error = m->bias[j] - y->f32[order[i] * out + j];
      for (int64_t k = 0; k < in; k++)
        error += row[k] * m->weight[j * in + k];
      loss += scale * error * error;
      db[j] += 2 * scale * error;
      for (int64_t k = 0; k < in; k++)
        dw[j * in + k] += 2 * scale * error * row[k];
    }
  for (int64_t k = 0; k < in * out; k++)
    dw[k] += m->left;
  for (int64_t k = 0; k < out; k++)
    db[k] += m->left;
  m->left = 0;
  for (int64_t k = 0; k < in * out; k++)
    m->weight[k] -= 0.125 * (m->weight_speed[k] = 0.5 * m->weight_speed[k] + dw[k]);
  for (int64_t k = 0; k < out; k++)
    m->bias[k] -= 0.125 * (m->bias_speed[k] = 0.5 * m->bias_speed[k] + db[k]);
  return loss;
}

static void begin(const Case *c, Model *m) {
  const Array *weight = given(c, "weight"), *bias = given(c, "bias");
  for (int64_t i = 0; i < weight->count; i++)
    m->weight[i] = weight->f32[i];
  for (int64_t i = 0; i < bias->count; i++)
    m->bias[i] = bias->f32[i];
}

static Array *epoch(Case *c, Model *m, const int64_t *order) {
  int64_t batch = (int64_t)given_number(c, "batch size"), samples = samples_of(c);
  Array *losses = new_array(c, FY_FLOAT32, shape(batches_of(c)));
  for (int64_t i = 0; i < losses->count; i++) {
    int64_t end = (i + 1) * batch < samples ? (i + 1) * batch : samples;
    losses->f32[i] = (float)step(c, m, order, i * batch, end);
  }
  return losses;
}

// ---- judging -----------------------------------------------------------------------------------------------------------------

static bool is_permutation(const int64_t *order, int64_t count) {
  bool seen[512] = {false};
  for (int64_t i = 0; i < count; i++) {
    if (order[i] < 0 || order[i] >= count || seen[order[i]])
      return false;
    seen[order[i]] = true;
  }
  return true;
}

static bool judge_order(Case *c, const Array *order) {
  int64_t n = samples_of(c), batch = (int64_t)given_number(c, "batch size"), whole = n / batch * batch, moved = 0;
  if (!expect_that(c, order && order->dtype == FY_INT64, NULL, "compare_loading did not return") ||
      !expect_exactly(c, "samples of both epochs", order->count, 2 * n, order->count == 2 * whole ? &LAST : NULL) ||
      !expect_that(c, is_permutation(order->i64, n) && is_permutation(order->i64 + n, n), NULL,
                   "an epoch has to have every sample once"))
    return false;
  for (int64_t i = 0; i < n; i++)
    moved += order->i64[i] != i;
  return expect_that(c, moved > 0, &IN_SEQUENCE, "the order is 0, 1, 2, ...") &&
         expect_that(c, memcmp(order->i64, order->i64 + n, (size_t)n * sizeof(int64_t)) == 0, &OTHER_ORDER,
                     "the second epoch has another order than the first");
}

static double left_in_gradients(const Case *c) {
  return strcmp(case_test(c), "gradients of an earlier step") == 0 ? given_number(c, "left") : 0;
}

static bool judge_losses(Case *c, const int64_t *order) {
  Model fresh = {0}, going = {0}, restored = {0};
  begin(c, &fresh);
  going = restored = fresh;
  Array *want = epoch(c, &fresh, order);
  epoch(c, &going, order);
  epoch(c, &restored, order);
  begin(c, &restored); // but for its momentum
  Array *on = epoch(c, &going, order), *kept = epoch(c, &restored, order);
  suspect_array(c, "pinned", on, &WENT_ON);
  suspect_array(c, "pinned", kept, &MOMENTUM);
  memset(going.weight_speed, 0, sizeof going.weight_speed);
  going = (Model){0};
  begin(c, &going);
  epoch(c, &going, order);
  memset(going.weight_speed, 0, sizeof going.weight_speed);
  memset(going.bias_speed, 0, sizeof going.bias_speed);
  suspect_array(c, "pinned", epoch(c, &going, order), &WENT_ON); // with an optimizer of its own
  Model left = {.left = left_in_gradients(c)};
  begin(c, &left);
  if (left.left > 0)
    suspect_array(c, "pageable", epoch(c, &left, order), &EARLIER);
  return expect_array(c, "pageable", want, 1e-4) && expect_array(c, "pinned", want, 1e-4);
}

// The model as an epoch has trained it.
static bool judge_model(Case *c, const int64_t *order) {
  const char *const names[] = {"weight", "bias"};
  Model trained = {0};
  begin(c, &trained);
  epoch(c, &trained, order);
  for (int i = 0; i < 2; i++) {
    char after[32];
    Array *want = new_array(c, FY_FLOAT32, given(c, names[i])->shape);
    for (int64_t k = 0; k < want->count; k++)
      want->f32[k] = (float)(i ? trained.bias[k] : trained.weight[k]);
    snprintf(after, sizeof after, "%s after", names[i]);
    suspect_array(c, after, given(c, names[i]), &GIVEN_BACK);
    if (!expect_array(c, after, want, 1e-4))
      return false;
  }
  return true;
}

// In the trace: the copies to the device of the first epoch, and those of the second.
static void judge_copies(Case *c) {
  EventTrace all = event_trace(c);
  int64_t copies = 0, pinned[2] = {0}, waits = 0, half = 2 * batches_of(c);
  for (int64_t i = 0; i < all.count; i++) {
    if (all.entries[i].kind == TRACE_IN) {
      pinned[copies >= half] += all.entries[i].number == 1;
      copies++;
    }
    waits += all.entries[i].kind == TRACE_WAIT && copies > half && copies < 2 * half;
  }
  const Mistake *first = pinned[1] == 0 ? &SWAPPED : &ALWAYS;
  if (expect_exactly(c, "copies from pinned memory in the first epoch", pinned[0], 0, first) &&
      expect_exactly(c, "copies from pinned memory in the second epoch", pinned[1], half, pinned[1] ? &PARTLY : &NEVER))
    expect_exactly(c, "times the host waited in the second epoch", waits, 0, &BLOCKING);
}

// The second call began with the model as the first had left it; with the weights that the first began with it has its losses.
static bool judge_second(Case *c, const int64_t *order, const int64_t *next) {
  Model model = {0}, earlier = {0};
  begin(c, &model);
  epoch(c, &model, order);
  memset(model.weight_speed, 0, sizeof model.weight_speed);
  memset(model.bias_speed, 0, sizeof model.bias_speed);
  begin(c, &earlier);
  suspect_array(c, "second pageable", epoch(c, &earlier, next), &KEPT);
  return expect_array(c, "second pageable", epoch(c, &model, next), 1e-3);
}

static void judge(Case *c) {
  const Array *order = got(c, "order");
  if (!judge_order(c, order) || !judge_losses(c, order->i64) || !judge_model(c, order->i64))
    return;
  const Array *other = got(c, "order by another seed");
  expect_that(c,
              other && (other->count != order->count || memcmp(other->i64, order->i64, (size_t)order->count * 8) != 0),
              &SEED, "with another seed the samples came in the same order");
  const Array *high = got(c, "order by a seed above 32 bits");
  expect_that(c, high && (high->count != order->count || memcmp(high->i64, order->i64, (size_t)order->count * 8) != 0),
              &SEED_CUT, "with a seed that is larger by 2^32 the samples came in the same order");
  // The values themselves follow from the first call's; here both have to be the same.
  const Array *second = got_shaped(c, "second pageable", shape(batches_of(c)));
  suspect_that(c, got_shaped(c, "second pinned", shape(batches_of(c))) != NULL, &KEPT);
  if (!expect_that(c, second != NULL, NULL, "in a second call there are no losses") ||
      !expect_array(c, "second pinned", second, 1e-4) || !other || other->count < samples_of(c) ||
      !judge_second(c, order->i64, other->i64))
    return;
  const Array *without = got(c, "drawn without it"), *after = got(c, "drawn after it");
  expect_that(c, without && after && memcmp(without->data, after->data, sizeof(float) * 4) == 0, &GENERATOR,
              "what the process's generator gives after the call is not what it gives without the call");
  expect_device(c, "pageable", given_text(c, "device"), &FETCHED);
  expect_device(c, "pinned", given_text(c, "device"), &FETCHED);
  expect_that(c, !((got(c, "pageable")->flags | got(c, "pinned")->flags) & ARRAY_REQUIRES_GRAD), &GRAPHS,
              "the losses carry a graph");
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &FETCHED);
  if (expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 4 * batches_of(c), NULL) &&
      event_trace(c).known)
    judge_copies(c);
}

EXERCISE = {
    .id = "08_2_pinned_or_pageable",
    .title = "Pinned or pageable memory",
    .after_pass = "Pinned memory pays where copies run beside the work, which two epochs timed alike can show.",
    .kind = "write",
    .chapter = 8,
    .level = LEVEL_HARD,
    .minutes = 40,
    .lesson = PINNED,
    .hints = {"One function that trains an epoch with a loader and returns its losses, called twice.",
              "Between the two: fy_clone of the parameters before, fy_copy_ back into them after, in fy_no_grad.",
              "Two loaders with the same .seed begin with the same order. A loader's second epoch has another one.",
              ".pin_memory = true for the loader, .non_blocking = true for fy_to, and nothing that reads a value in "
              "the loop."},
    .functions = {"compare_loading"},
    .tests = {{.name = "a smaller last batch", .ask = ask_smaller, .judge = judge},
              {.name = "whole batches", .ask = ask_whole, .judge = judge},
              {.name = "gradients of an earlier step", .ask = ask_left, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
