// SPDX-License-Identifier: MIT
// Exercise 8.2: the same epoch twice. The expected losses follow from the order in which the samples were read.
#include "exercise.h"
#include <stdio.h>
#include <string.h>

#define PINNED "docs/08_data_pipeline.md#pinned-and-pageable-memory"

#define ORDER "docs/08_data_pipeline.md#shuffling-and-seeds"
#define RESUME "docs/09_training_a_classifier.md#checkpoints-and-resuming"
#define LOOP "docs/07_pitfalls.md#implicit-synchronization-in-a-loop"

static const Mistake SEED = {
    "seed not used",
    "With a different seed, the samples came in the same order. Pass the parameter to the loader: .seed = seed.",
    ORDER};
static const Mistake WENT_ON = {"weights not restored",
                                "The second epoch continued with the trained weights of the first. Copy the weights "
                                "before the first epoch, and restore them after it.",
                                RESUME};
static const Mistake MOMENTUM = {
    "optimizer state kept",
    "An optimizer with momentum keeps state from earlier steps. Create a new optimizer for the second epoch.", RESUME};
static const Mistake OTHER_ORDER = {"different sample order",
                                    "The two epochs had different orders. Create a new loader with the same seed, "
                                    "because the next epoch of the same loader has a different order.",
                                    ORDER};
static const Mistake IN_SEQUENCE = {"missing shuffle",
                                    "The samples come in the order of the data set. Set .shuffle = true.", ORDER};
static const Mistake NEVER = {"pageable memory in both epochs",
                              "No copy came from pinned memory. Set .pin_memory = true for the second loader.", PINNED};
static const Mistake PARTLY = {"batch only partly pinned",
                               "Inputs and targets must both come from pinned memory. .pin_memory = true pins both.",
                               PINNED};
static const Mistake ALWAYS = {
    "pinned memory in both epochs",
    "The first epoch also copied from pinned memory. Leave .pin_memory unset for the first loader.", PINNED};
static const Mistake SWAPPED = {
    "epochs swapped", "The first epoch must copy from pageable memory, and the second from pinned memory.", PINNED};
static const Mistake BLOCKING = {"blocking copy from pinned memory",
                                 "The host waited for the copies. Set .non_blocking = true.", PINNED};
static const Mistake FETCHED = {"host synchronization in the loop",
                                "A loss was copied to the host in each batch. Leave the losses on the device.", LOOP};
static const Mistake FETCHED_ONCE = {
    "copy to the host", "Your function copied results to the host. Leave the losses and the weights on the device.",
    LOOP};
static const Mistake ELSEWHERE = {"result on the wrong device", "Return the losses on `device`.", LOOP};
static const Mistake GRAPHS = {"losses keep their graphs",
                               "A loss with its graph keeps the tensors of the whole step in memory. Store "
                               "fy_detach(loss).",
                               "docs/11_memory.md#memory-held-by-the-autograd-graph"};
static const Mistake NOT_CLEARED = {
    "gradients not cleared",
    "The model already had gradients, and the first step added to them. Call fy_zero_grad before fy_backward.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake LAST = {"last batch dropped", "The last batch may be smaller. Leave .drop_last unset.",
                             "docs/08_data_pipeline.md#datasets-transforms-and-data-loaders"};
static const Mistake GIVEN_BACK = {
    "weights restored after the last epoch",
    "The model has its initial weights again. Do not restore them after the second epoch.", PINNED};
static const Mistake GENERATOR = {"global random state changed",
                                  "The caller's next random numbers differ, because you seeded or used the process's "
                                  "random generator. A loader with .seed does neither.",
                                  ORDER};
static const Mistake KEPT = {"state kept between calls",
                             "The second call used values from the first call, because a static variable keeps its "
                             "value. Copy the weights in each call.",
                             RESUME};

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

enum { WAITS = 2 };

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
  double left; // added to every gradient of the first step
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
                   "an epoch must have each sample once"))
    return false;
  for (int64_t i = 0; i < n; i++)
    moved += order->i64[i] != i;
  return expect_that(c, moved > 0, &IN_SEQUENCE, "the order is 0, 1, 2, ...") &&
         expect_that(c, memcmp(order->i64, order->i64 + n, (size_t)n * sizeof(int64_t)) == 0, &OTHER_ORDER,
                     "the second epoch has a different order than the first");
}

static double left_in_gradients(const Case *c) {
  return strcmp(case_test(c), "existing gradients") == 0 ? given_number(c, "left") : 0;
}

static bool judge_losses(Case *c, const int64_t *order) {
  Model fresh = {0}, going = {0}, restored = {0};
  begin(c, &fresh);
  going = restored = fresh;
  Array *want = epoch(c, &fresh, order);
  epoch(c, &going, order);
  epoch(c, &restored, order);
  begin(c, &restored); // the momentum stays
  Array *on = epoch(c, &going, order), *kept = epoch(c, &restored, order);
  suspect_array(c, "pinned", on, &WENT_ON);
  suspect_array(c, "pinned", kept, &MOMENTUM);
  memset(going.weight_speed, 0, sizeof going.weight_speed);
  going = (Model){0};
  begin(c, &going);
  epoch(c, &going, order);
  memset(going.weight_speed, 0, sizeof going.weight_speed);
  memset(going.bias_speed, 0, sizeof going.bias_speed);
  suspect_array(c, "pinned", epoch(c, &going, order), &WENT_ON); // with a new optimizer
  Model left = {.left = left_in_gradients(c)};
  begin(c, &left);
  if (left.left > 0)
    suspect_array(c, "pageable", epoch(c, &left, order), &NOT_CLEARED);
  return expect_array(c, "pageable", want, 1e-4) && expect_array(c, "pinned", want, 1e-4);
}

// The model after one epoch.
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

// The trace has the copies to the device of the first epoch, then those of the second.
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
    expect_at_most(c, "host waits in the second epoch", waits, WAITS, waits >= batches_of(c) - 1 ? &BLOCKING : NULL);
}

// The second call begins with the model of the first. With the initial weights of the first call, its losses show it.
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
              &SEED, "the samples came in the same order with a different seed");
  // Both rows of the second call must be the same; the values are compared in judge_second.
  const Array *second = got_shaped(c, "second pageable", shape(batches_of(c)));
  if (!expect_that(c, second != NULL, NULL, "a second call returned no losses") || !other ||
      other->count < samples_of(c) || !judge_second(c, order->i64, other->i64))
    return;
  if (!expect_array(c, "second pinned", second, 1e-4)) {
    suspect_that(c, got_shaped(c, "second pinned", second->shape) != NULL, &KEPT);
    return;
  }
  if (!expect_device(c, "pageable", given_text(c, "device"), &ELSEWHERE) ||
      !expect_device(c, "pinned", given_text(c, "device"), &ELSEWHERE) ||
      !expect_at_most(c, "copies from device to host", counts(c)->device_to_host, WAITS,
                      counts(c)->device_to_host >= batches_of(c) ? &FETCHED : NULL))
    return;
  if (expect_exactly(c, "copies from host to device", counts(c)->host_to_device, 4 * batches_of(c), NULL) &&
      event_trace(c).known)
    judge_copies(c);
  expect_exactly(c, "copies from device to host", counts(c)->device_to_host, 0, &FETCHED_ONCE);
  expect_that(c, !((got(c, "pageable")->flags | got(c, "pinned")->flags) & ARRAY_REQUIRES_GRAD), &GRAPHS,
              "the losses require grad");
  const Array *without = got(c, "drawn without it"), *after = got(c, "drawn after it");
  expect_that(c, without && after && memcmp(without->data, after->data, sizeof(float) * 4) == 0, &GENERATOR,
              "the call changed the next random numbers of the process's generator");
}

EXERCISE = {
    .id = "08_2_pinned_or_pageable",
    .title = "Pinned or pageable memory",
    .after_pass =
        "A fair benchmark changes one thing only: the same weights and order, a new optimizer, but different memory.",
    .kind = "write",
    .chapter = 8,
    .level = LEVEL_MEDIUM,
    .minutes = 40,
    .lesson = PINNED,
    .stars = {{"no copy to the host, and losses without graphs", {&FETCHED_ONCE, &GRAPHS}},
              {"the process's random generator is unchanged", {&GENERATOR}}},
    .hints = {"Write a function that trains one epoch with a loader and returns its losses. Call it twice.",
              "Copy the parameters with fy_clone before the first epoch. Restore them with fy_copy_ inside fy_no_grad.",
              "Create two loaders with the same .seed, because a loader's second epoch has a different order. Create a "
              "new optimizer for each epoch.",
              "For the pinned epoch, set .pin_memory = true for the loader and .non_blocking = true for fy_to. Copy "
              "nothing to the host in the loop."},
    .functions = {"compare_loading"},
    .tests = {{.name = "whole batches", .ask = ask_whole, .judge = judge},
              {.name = "a smaller last batch", .ask = ask_smaller, .judge = judge},
              {.name = "existing gradients", .ask = ask_left, .judge = judge},
              {.name = "on cuda:1", .ask = ask_second, .judge = judge, .devices = 2}},
};
