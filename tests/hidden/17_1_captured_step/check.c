// SPDX-License-Identifier: MIT
// Exercise 17.1: a captured training step that reads new data at every replay. The optimizer has momentum, so a captured first
// step differs from later ones.
#include "exercise.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define STEP "docs/17_cuda_graphs.md#capturing-a-training-step"
#define ADDRESSES "docs/17_cuda_graphs.md#a-capture-records-addresses"
#define WARM "docs/17_cuda_graphs.md#warm-up-before-the-capture"
#define FORBIDDEN "docs/17_cuda_graphs.md#operations-that-cannot-be-captured"

static const Mistake NOTHING = {"no result returned", "Return the losses.", STEP};
static const Mistake SAME_BATCH = {"same batch in every replay",
                                   "A replay reads the tensors that were captured. Before each replay, copy the next "
                                   "batch into these tensors, on the same stream.",
                                   ADDRESSES};
static const Mistake NO_WARM_UP = {
    "missing warm-up step",
    "Every replay repeated the optimizer's first step, without momentum. Run at least one step eagerly before the "
    "capture.",
    WARM};
static const Mistake ADDED_UP = {"gradients not cleared",
                                 "From the capture on, each step added its gradients to earlier ones. Call "
                                 "fy_zero_grad(optimizer) just before the capture, or as its first call.",
                                 STEP};
static const Mistake CAPTURE_AS_STEP = {
    "capture counted as a step",
    "The model was not trained on one batch, because a capture runs nothing. Replay the graph for that batch as well.",
    ADDRESSES};
static const Mistake EXTRA_STEPS = {
    "additional training steps",
    "The first batch was used for more than one step. Warm up with regular steps, one per batch.", WARM};
static const Mistake DEFAULT_STREAM = {"capture on the default stream",
                                       "The default stream cannot be captured. Capture on a stream from fy_stream_new.",
                                       WARM};
static const Mistake LEFT_ALIVE = {
    "tensors of the warm-up kept alive",
    "A loss from the warm-up was still alive at the capture, and its graph refers to the default stream. Put fy_scope "
    "around each warm-up step, or warm up on another stream.",
    WARM};
static const Mistake WAITED_INSIDE = {
    "host synchronization during capture",
    "A call in the captured block waits for the device, as fy_item does. Move it out of the block.", FORBIDDEN};
static const Mistake COPIED_INSIDE = {
    "blocking copy during capture",
    "The captured block copies from or to memory that is not pinned. Move the copy out of the block.", FORBIDDEN};
static const Mistake LAST_LOSS = {"losses overwritten by the replay",
                                  "All losses since the capture are equal, because every replay overwrites the same "
                                  "tensor. Copy the loss after each replay.",
                                  STEP};
static const Mistake READ_EARLY = {"result read before the copy finished",
                                   "The copy of the losses had not finished when you returned. Wait for the device, or "
                                   "use a blocking copy such as fy_cpu.",
                                   "docs/07_pitfalls.md#reading-an-asynchronous-copy-too-early"};
static const Mistake LOSSES_MISSING = {
    "losses of some steps missing",
    "The parameters are correct, but some losses are 0. Store the loss of every step, including the warm-up steps.",
    STEP};
static const Mistake NO_STEP = {"no optimizer step in the graph",
                                "The parameters did not change after the capture. Capture backward and fy_step, and "
                                "do not clear the gradients between them.",
                                STEP};
static const Mistake NO_GRAPH = {
    "no CUDA graph", "All steps ran eagerly. Capture a step once, and replay it for the other batches.", STEP};
static const Mistake MANY_CAPTURES = {
    "repeated capture", "You captured the graph again for later steps. Capture it once, and replay it.", STEP};
static const Mistake LONG_WARM_UP = {
    "long warm-up", "Three warm-up steps are enough. Each additional eager step is slower than a replay.", WARM};
static const Mistake WAITED = {"host synchronization in every step",
                               "The host waited for the device in every step. Use fy_copy_async_ for the batches, "
                               "and read the losses once at the end.",
                               STEP};
static const Mistake ON_DEVICE = {"result on the wrong device", "Return the losses on the CPU.", STEP};
static const Mistake GRAPH = {"result attached to the autograd graph",
                              "The losses require a gradient. Detach them with fy_detach.", STEP};
static const Mistake OTHER_GPU = {"capture on the wrong GPU",
                                  "The model's GPU is not the current device, so you captured a stream of a different "
                                  "GPU. Use a stream of the model's device, or fy_cuda_device_guard.",
                                  "docs/06_several_gpus.md#choose-a-gpu"};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask_sizes(Case *c, const char *device, int64_t steps, int64_t rows, int64_t in, int64_t out) {
  give_array(c, "batches", draw_array(c, FY_FLOAT32, shape(steps, rows, in), -1, 1), (Give){.pinned = true});
  give_array(c, "targets", draw_array(c, FY_FLOAT32, shape(steps, rows, out), 1, 3), (Give){.pinned = true});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1),
             (Give){.device = device, .requires_grad = true});
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), (Give){.device = device, .requires_grad = true});
  give_number(c, "lr", (double)draw_int(c, 4, 8) / 64);
}

static void ask(Case *c) {
  ask_sizes(c, "cuda:0", draw_int(c, 11, 13), draw_odd(c, 5, 9), draw_int(c, 3, 6), 3);
}
static void ask_many(Case *c) {
  ask_sizes(c, "cuda:0", draw_int(c, 20, 24), draw_odd(c, 5, 9), 3, 2);
}
static void ask_large(Case *c) {
  ask_sizes(c, "cuda:0", 11, draw_odd(c, 101, 199), draw_odd(c, 11, 15), 7);
}
static void ask_one(Case *c) {
  ask_sizes(c, "cuda:0", draw_int(c, 11, 13), 1, 2, 1);
}
static void ask_another_stream(Case *c) {
  ask(c);
  give_number(c, "another stream", 1);
}
static void ask_second(Case *c) {
  ask_sizes(c, "cuda:1", draw_int(c, 11, 13), draw_odd(c, 5, 9), draw_int(c, 3, 6), 3);
}

// ---- the training in plain loops -------------------------------------------------------------------------------------

enum { MOST_STEPS = 32, MOST_WARM = 4, NEVER = -1 };

// A wrong training: from step `warm` on ...
typedef struct Variant {
  int64_t warm;
  int64_t batch;              // ... on this batch; NEVER: on the batch of the step
  bool forgets, adds, stands; // ... without momentum; with earlier gradients added; without any step
  int64_t again;              // additional steps on the first batch at the beginning
  bool skips;                 // step `warm` is left out
  bool once;                  // one more step, on `batch`, and none after it
} Variant;

static const Variant RIGHT = {.warm = 0, .batch = NEVER};

enum { MOST_WEIGHTS = 128 };

typedef struct Parameter {
  int64_t count;
  float value[MOST_WEIGHTS];
  double grad[MOST_WEIGHTS], momentum[MOST_WEIGHTS];
} Parameter;

typedef struct Trained {
  Parameter weight, bias;
  double loss[MOST_STEPS];
} Trained;

static void begin(const Case *c, const char *name, Parameter *p) {
  const Array *first = given(c, name);
  *p = (Parameter){.count = first->count};
  for (int64_t i = 0; i < first->count; i++)
    p->value[i] = first->f32[i];
}

// Returns the loss; adds the gradients.
static double schedule(const Case *c, Parameter *w, Parameter *b, int64_t batch) {
  const Array *x = given(c, "batches"), *y = given(c, "targets");
  const int64_t rows = x->shape.size[1], in = x->shape.size[2], out = y->shape.size[2];
  double loss = 0, part = 1 / (double)(rows * out);
  for (int64_t i = 0; i < rows * out; i++) {
    const float *row = x->f32 + (batch * rows + i / out) * in;
    double error = (double)b->value[i % out] - y->f32[batch * rows * out + i];
    for (int64_t k = 0; k < in; k++)
      error += (double)row[k] * w->value[i % out * in + k];
    loss += part * error * error;
    b->grad[i % out] += 2 * part * error;
    for (int64_t k = 0; k < in; k++)
      w->grad[i % out * in + k] += 2 * part * error * row[k];
  }
  return loss;
}

static void update(Parameter *p, double lr, bool forgets) {
  for (int64_t i = 0; i < p->count; i++) {
    p->momentum[i] = p->grad[i] + (forgets ? 0 : 0.5 * p->momentum[i]);
    p->value[i] -= (float)(lr * p->momentum[i]);
  }
}

static void clear(Parameter *p) {
  for (int64_t i = 0; i < p->count; i++)
    p->grad[i] = 0;
}

static Trained trained(const Case *c, Variant v) {
  const int64_t steps = given(c, "batches")->shape.size[0];
  const double lr = given_number(c, "lr");
  Trained t;
  begin(c, "weight", &t.weight);
  begin(c, "bias", &t.bias);
  for (int64_t i = -v.again; i < steps; i++) {
    const bool replayed = i >= v.warm;
    if (!(replayed && v.adds)) {
      clear(&t.weight);
      clear(&t.bias);
    }
    if (i == v.warm && v.skips)
      continue;
    const double loss = schedule(c, &t.weight, &t.bias, i < 0 ? 0 : replayed && v.batch != NEVER ? v.batch : i);
    if (i >= 0)
      t.loss[i] = loss;
    if (replayed && (v.stands || (v.once && i > v.warm)))
      continue;
    update(&t.weight, lr, replayed && v.forgets);
    update(&t.bias, lr, replayed && v.forgets);
  }
  return t;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static const double NEAR = 1e-4;

static double apart(const Array *a, int64_t count, const float *b) {
  double most = 0;
  if (!a || a->dtype != FY_FLOAT32 || a->count != count)
    return INFINITY;
  for (int64_t i = 0; i < count; i++) {
    const double difference = fabs((double)a->f32[i] - b[i]);
    if (!(difference <= DBL_MAX))
      return INFINITY;
    most = fmax(most, difference);
  }
  return most;
}

static double apart_from(const Parameter *a, const Parameter *b) {
  double most = 0;
  for (int64_t i = 0; i < a->count; i++)
    most = fmax(most, fabs((double)a->value[i] - b->value[i]));
  return most;
}

static bool parameters_are(const Case *c, const Trained *t) {
  return apart(got(c, "weight"), t->weight.count, t->weight.value) <= NEAR &&
         apart(got(c, "bias"), t->bias.count, t->bias.value) <= NEAR;
}

// The parameters are those of a variant, and it differs from the right training.
static bool trained_by(const Case *c, Variant v) {
  const Trained want = trained(c, RIGHT), other = trained(c, v);
  return parameters_are(c, &other) &&
         apart_from(&want.weight, &other.weight) + apart_from(&want.bias, &other.bias) > 10 * NEAR;
}

static bool on_one_batch(const Case *c) {
  for (int64_t warm = 0; warm <= MOST_WARM; warm++)
    for (int64_t batch = 0; batch <= warm; batch++)
      if (trained_by(c, (Variant){.warm = warm, .batch = batch}))
        return true;
  return false;
}

static bool by(const Case *c, Variant v) {
  for (v.warm = 0; v.warm <= MOST_WARM; v.warm++)
    if (trained_by(c, v))
      return true;
  return false;
}

// The block of the capture ran, and the replays did nothing.
static bool ran_once(const Case *c) {
  for (int64_t warm = 0; warm <= MOST_WARM; warm++)
    for (int64_t batch = warm > 0 ? warm - 1 : 0; batch <= warm; batch++)
      if (trained_by(c, (Variant){.warm = warm, .batch = batch, .once = true}))
        return true;
  return false;
}

static bool after_further_steps(const Case *c) {
  for (int64_t again = 1; again <= MOST_WARM; again++)
    if (trained_by(c, (Variant){.batch = NEVER, .again = again}))
      return true;
  return false;
}

static Array *wanted_losses(Case *c, const Trained *want) {
  Array *losses = new_array(c, FY_FLOAT32, shape(given(c, "batches")->shape.size[0]));
  for (int64_t i = 0; i < losses->count; i++)
    losses->f32[i] = (float)want->loss[i];
  return losses;
}

static Array *wanted(Case *c, const char *name, const Parameter *p) {
  Array *a = new_array(c, FY_FLOAT32, given(c, name)->shape);
  for (int64_t i = 0; i < p->count; i++)
    a->f32[i] = p->value[i];
  return a;
}

// All losses since an early step are equal to the last one.
static bool repeats_the_last(const Array *losses, const Array *want) {
  int64_t equal = 0;
  if (!losses || losses->dtype != FY_FLOAT32 || losses->count != want->count)
    return false;
  const float last = losses->f32[losses->count - 1];
  while (equal < losses->count && losses->f32[losses->count - 1 - equal] == last)
    equal++;
  return equal >= losses->count - MOST_WARM && fabs((double)last - want->f32[want->count - 1]) <= NEAR;
}

static bool has_zeros(const Array *losses) {
  for (int64_t i = 0; losses && losses->dtype == FY_FLOAT32 && i < losses->count; i++)
    if (losses->f32[i] == 0)
      return true;
  return false;
}

// The first loss is that of the weight before the caller's enqueued work was done: half of the right weight.
static bool began_too_early(const Case *c) {
  const Array *losses = got(c, "losses");
  Parameter weight, bias;
  begin(c, "weight", &weight);
  begin(c, "bias", &bias);
  const double right = schedule(c, &weight, &bias, 0);
  for (int64_t i = 0; i < weight.count; i++)
    weight.value[i] /= 2;
  const double early = schedule(c, &weight, &bias, 0);
  return losses && losses->dtype == FY_FLOAT32 && losses->count > 0 && fabs(losses->f32[0] - early) <= NEAR &&
         fabs(early - right) > 10 * NEAR;
}

static void suspects(Case *c, const Trained *trained_right, const Array *want) {
  const bool right = parameters_are(c, trained_right);
  suspect_that(c, !*got_error(c) && !got(c, "losses"), &NOTHING);
  suspect_error(c, "must be captured on a non-default stream", &DEFAULT_STREAM);
  suspect_error(c, "has a stale reference to the default stream", &LEFT_ALIVE);
  suspect_error(c, "unless the CPU tensor is pinned", &COPIED_INSIDE);
  suspect_error(c, "operation not permitted when stream is capturing", &WAITED_INSIDE);
  if (!got(c, "weight"))
    return;
  suspect_that(c,
               right && apart(got(c, "losses"), want->count, want->f32) > NEAR &&
                   apart(got(c, "losses later"), want->count, want->f32) <= NEAR,
               &READ_EARLY);
  suspect_that(c, case_schedule(c) != SCHEDULE_IN_ORDER || began_too_early(c), &STREAMS_APART);
  suspect_that(c, right && repeats_the_last(got(c, "losses"), want), &LAST_LOSS);
  suspect_that(c, right && has_zeros(got(c, "losses")), &LOSSES_MISSING);
  suspect_that(c, on_one_batch(c), &SAME_BATCH);
  suspect_that(c, by(c, (Variant){.batch = NEVER, .forgets = true}), &NO_WARM_UP);
  suspect_that(c, by(c, (Variant){.batch = NEVER, .adds = true}), &ADDED_UP);
  suspect_that(c, by(c, (Variant){.batch = NEVER, .skips = true}), &CAPTURE_AS_STEP);
  suspect_that(c, after_further_steps(c), &EXTRA_STEPS);
  suspect_that(c, by(c, (Variant){.batch = NEVER, .stands = true}), &NO_STEP);
  suspect_that(c, strcmp(got_device(c, "weight"), "cuda:1") == 0 && ran_once(c), &OTHER_GPU);
}

static void judge(Case *c) {
  const Trained want = trained(c, RIGHT);
  const Array *losses = wanted_losses(c, &want);
  const int64_t steps = losses->count;
  suspects(c, &want, losses);
  if (!expect_array(c, "weight", wanted(c, "weight", &want.weight), NEAR) ||
      !expect_array(c, "bias", wanted(c, "bias", &want.bias), NEAR) || !expect_device(c, "losses", "cpu", &ON_DEVICE) ||
      !expect_array(c, "losses", losses, NEAR))
    return;
  expect_that(c, !(got(c, "losses")->flags & ARRAY_REQUIRES_GRAD), &GRAPH, "losses: expected to require no gradient");
  if (!expect_at_least(c, "graph launches", got_count(c, "graph launches"), 1, &NO_GRAPH))
    return;
  const bool repeated = got_count(c, "calls") + got_count(c, "graph launches") > steps + 1;
  if (!expect_at_most(c, "forward passes on the host", got_count(c, "calls"), 8, repeated ? &MANY_CAPTURES : NULL))
    return;
  expect_at_most(c, "forward passes on the host", got_count(c, "calls"), 4, &LONG_WARM_UP);
  expect_at_most(c, "host synchronizations", counts(c)->synchronizations, 6, &WAITED);
}

EXERCISE = {
    .id = "17_1_captured_step",
    .title = "Capture a training step",
    .after_pass =
        "A CUDA graph replays a whole step with one launch. New data must be copied into the captured memory.",
    .kind = "write",
    .chapter = 17,
    .level = LEVEL_HARD,
    .minutes = 40,
    .lesson = STEP,
    .stars = {{"at most 4 forward passes on the host", {&LONG_WARM_UP}}, {"the host waits at most 6 times", {&WAITED}}},
    .hints = {"Create two tensors on the device, x and y, with the size of one batch. Copy every batch into them: "
              "fy_copy_async_(x, fy_select(batches, 0, i)).",
              "Run the first three steps eagerly, each in an fy_scope. Then call fy_zero_grad, and put forward, loss, "
              "backward and step into fy_cuda_graph_capture(graph, .stream = stream) { ... }.",
              "After each replay, copy the loss to its element of a tensor on the device: fy_copy_(fy_select(losses, "
              "0, i), fy_detach(loss)). Call fy_cpu(losses) at the end."},
    .functions = {"train_by_replays"},
    .streams = true,
    .tests = {{.name = "a dozen batches", .ask = ask, .judge = judge},
              {.name = "many batches", .ask = ask_many, .judge = judge},
              {.name = "a larger model", .ask = ask_large, .judge = judge},
              {.name = "one row, one output", .ask = ask_one, .judge = judge},
              {.name = "another stream is current", .ask = ask_another_stream, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2}},
};
