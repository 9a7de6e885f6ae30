// SPDX-License-Identifier: MIT
// Exercise 6.2: DataParallel's four parts, and a step of training around them.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define APART "docs/06_several_gpus.md#scatter-replicate-parallel-apply-gather"
static const char *const names[] = {"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"};

#define BATCHES "docs/06_several_gpus.md#batches-that-do-not-divide-evenly"
#define STEPS "docs/05_model_moves.md#training-steps"

static const Mistake NOT_SPLIT = {"batch not split across GPUs",
                                  "Only one GPU computed rows. Scatter the batch, and run a replica on each chunk, "
                                  "even if there are fewer rows than GPUs.",
                                  APART};
static const Mistake IDLE = {"idle GPUs",
                             "Some of the GPUs in ids computed no rows. Scatter the batch across all of them.", APART};
static const Mistake UNEVEN = {
    "load imbalance",
    "One GPU has more than N / count rows (rounded up), so the other GPUs wait for it. Split the batch evenly.",
    BATCHES};
static const Mistake TOO_MANY = {"more replicas than chunks",
                                 "A small batch has fewer chunks than there are GPUs. fy_scatter returns the number of "
                                 "chunks. Use this number in all later calls.",
                                 BATCHES};
static const Mistake NO_REPLICA = {
    "chunk and replica on different devices",
    "Each replica must be on the GPU of its chunk. Use the same ids for fy_scatter and fy_replicate.", APART};
static const Mistake FIRST_CHUNK = {
    "loss of the first chunk only",
    "Compute the loss of all outputs. fy_gather concatenates the chunks' outputs on one GPU.", APART};
static const Mistake MEAN_OF_MEANS = {"mean of means",
                                      "In your loss, chunks of different sizes have the same weight. Gather the "
                                      "outputs first, then take the mean over all rows.",
                                      BATCHES};
static const Mistake STALE = {"stale replicas",
                              "Each step changes the model's parameters, but earlier replicas keep the old values. "
                              "Create new replicas in every step.",
                              APART};
static const Mistake IN_TURN = {"sequential execution",
                                "The replicas ran one after the other. Pass all replicas to a single call of "
                                "fy_parallel_apply, which runs each in its own thread.",
                                APART};
static const Mistake NO_STEP = {"parameters not updated",
                                "The weights are unchanged. Call fy_backward, which computes the gradients, and "
                                "fy_step, which updates the parameters.",
                                STEPS};
static const Mistake NOT_CLEARED = {"gradients not cleared",
                                    "fy_backward adds to the existing gradients. Call fy_zero_grad before it.", STEPS};
static const Mistake CLEARED_LATE = {
    "gradients cleared too late",
    "The parameters may already have gradients before the first step. Call fy_zero_grad before fy_backward.", STEPS};
static const Mistake NO_GRAPH = {
    "loss detached from the graph",
    "The loss has no grad_fn. Call fy_backward on the loss itself, and detach only the result.",
    "docs/06_several_gpus.md#gradients-add-up-on-the-first-gpu"};
static const Mistake ELSEWHERE = {"outputs gathered on the wrong GPU",
                                  "The target is on ids[0], which need not be cuda:0. Gather the outputs on ids[0].",
                                  APART};
static const Mistake KEPT = {"loss returned with its graph",
                             "The returned loss keeps the graph of the whole step alive. Return fy_detach(loss).",
                             "docs/06_several_gpus.md#training-with-dataparallel"};

static void ask_on(Case *c, int64_t batch, int count, const int64_t *ids) {
  int64_t in = draw_int(c, 3, 6), out = draw_int(c, 2, 4);
  Give here = {.device = names[ids[0]]}, plain = {0};
  Array *numbers = new_array(c, FY_INT64, shape(count));
  for (int i = 0; i < count; i++)
    numbers->i64[i] = ids[i];
  give_array(c, "ids", numbers, plain);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(batch, in), -1, 1), here);
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(batch, out), 2, 6), here);
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), plain);
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), plain);
  give_number(c, "lr", (double)draw_int(c, 4, 12) / 16);
}

static void ask_two(Case *c) {
  ask_on(c, draw_odd(c, 7, 15), 2, (const int64_t[]){0, 1});
}
static void ask_swapped(Case *c) {
  ask_on(c, draw_odd(c, 7, 15), 2, (const int64_t[]){1, 0});
}
static void ask_single(Case *c) {
  ask_on(c, draw_odd(c, 7, 15), 1, (const int64_t[]){0});
}
static void ask_row(Case *c) {
  ask_on(c, 1, 2, (const int64_t[]){0, 1});
}
static void ask_four(Case *c) {
  ask_on(c, 4 * draw_int(c, 2, 4) + 2, 4, (const int64_t[]){2, 0, 3, 1});
}

static void ask_eight(Case *c) {
  ask_on(c, 8 * draw_int(c, 1, 2) + 7, 8, (const int64_t[]){5, 0, 7, 3, 1, 6, 4, 2});
}

static void ask_fewer(Case *c) { // more GPUs than rows
  ask_on(c, 3, 4, (const int64_t[]){1, 3, 0, 2});
}

// ---- two steps in plain loops --------------------------------------------------------------------------------------------

typedef enum Slip { NONE, FIRST_ONLY, MEANS, STALE_REPLICAS, WITHOUT_STEP, ADDED_UP, CLEARED_AFTER } Slip;
enum { GRAD_BEFORE = 7 }; // the driver sets .grad to this before the first step

typedef struct Trained {
  Array *weight, *bias, *losses[2];
} Trained;

// The weight of a row's error in the loss, per output.
static double weight_of(const Case *c, Slip slip, int64_t row) {
  int64_t n = given(c, "x")->shape.size[0], count = given(c, "ids")->count, chunk = (n + count - 1) / count;
  int64_t chunks = (n + chunk - 1) / chunk, own = row / chunk < chunks - 1 ? chunk : n - (chunks - 1) * chunk;
  if (slip == FIRST_ONLY)
    return row < chunk ? 1.0 / (double)chunk : 0;
  return slip == MEANS ? 1.0 / (double)(chunks * own) : 1.0 / (double)n;
}

// The replica on the model's own GPU shares its parameters, the others have copies.
static bool is_stale(const Case *c, Slip slip, int64_t row) {
  int64_t n = given(c, "x")->shape.size[0], count = given(c, "ids")->count;
  return slip == STALE_REPLICAS && row >= (n + count - 1) / count;
}

static double gradients(Case *c, Slip slip, const Trained *t, double *dw, double *db) {
  const Array *x = given(c, "x"), *target = given(c, "target");
  int64_t in = x->shape.size[1], out = target->shape.size[1];
  double loss = 0;
  for (int64_t i = 0; i < target->count; i++) {
    const Array *weight = is_stale(c, slip, i / out) ? given(c, "weight") : t->weight;
    const Array *bias = is_stale(c, slip, i / out) ? given(c, "bias") : t->bias;
    double error = (double)bias->f32[i % out] - target->f32[i], scale = weight_of(c, slip, i / out) / (double)out;
    for (int64_t k = 0; k < in; k++)
      error += (double)x->f32[i / out * in + k] * weight->f32[i % out * in + k];
    loss += scale * error * error;
    db[i % out] += 2 * scale * error;
    for (int64_t k = 0; k < in; k++)
      dw[i % out * in + k] += 2 * scale * error * x->f32[i / out * in + k];
  }
  return loss;
}

static Trained trained(Case *c, Slip slip) {
  Trained t = {.weight = array_cast(c, given(c, "weight"), FY_FLOAT32),
               .bias = array_cast(c, given(c, "bias"), FY_FLOAT32)};
  double *dw = new_array(c, FY_FLOAT64, t.weight->shape)->f64, *db = new_array(c, FY_FLOAT64, t.bias->shape)->f64;
  double lr = slip == WITHOUT_STEP ? 0 : given_number(c, "lr");
  for (int step = 0; step < 2; step++) {
    const bool kept = slip == ADDED_UP || (slip == CLEARED_AFTER && step == 0);
    for (int64_t i = 0; kept && step == 0 && i < t.weight->count; i++)
      dw[i] = GRAD_BEFORE;
    for (int64_t i = 0; kept && step == 0 && i < t.bias->count; i++)
      db[i] = GRAD_BEFORE;
    if (!kept) {
      memset(dw, 0, (size_t)t.weight->count * sizeof *dw);
      memset(db, 0, (size_t)t.bias->count * sizeof *db);
    }
    t.losses[step] = new_array(c, FY_FLOAT32, (Shape){.rank = 0});
    t.losses[step]->f32[0] = (float)gradients(c, slip, &t, dw, db);
    for (int64_t i = 0; i < t.weight->count; i++)
      t.weight->f32[i] -= (float)(lr * dw[i]);
    for (int64_t i = 0; i < t.bias->count; i++)
      t.bias->f32[i] -= (float)(lr * db[i]);
  }
  return t;
}

// ---- judging -------------------------------------------------------------------------------------------------------------

static bool judge_rows(Case *c) {
  const Array *rows = got_shaped(c, "rows", shape(16)), *ids = given(c, "ids");
  const int64_t n = given(c, "x")->shape.size[0], chunk = (n + ids->count - 1) / ids->count;
  int64_t working = 0, most = 0;
  if (!expect_that(c, rows && rows->dtype == FY_INT64, NULL, "parallel_step did not return"))
    return false;
  for (int64_t i = 0; i < ids->count; i++) {
    const int64_t own = rows->i64[ids->i64[i]];
    working += own > 0;
    most = own > most ? own : most;
  }
  if (!expect_at_least(c, "GPUs in ids that computed rows", working, (n + chunk - 1) / chunk,
                       working > 1 ? &IDLE : &NOT_SPLIT))
    return false;
  return expect_at_most(c, "rows on one GPU", most, chunk, &UNEVEN);
}

static void suspects(Case *c) {
  static const struct {
    Slip slip;
    const Mistake *mistake;
  } known[] = {{FIRST_ONLY, &FIRST_CHUNK}, {MEANS, &MEAN_OF_MEANS},  {STALE_REPLICAS, &STALE},
               {WITHOUT_STEP, &NO_STEP},   {ADDED_UP, &NOT_CLEARED}, {CLEARED_AFTER, &CLEARED_LATE}};
  for (size_t i = 0; i < sizeof known / sizeof *known && got(c, "first loss"); i++) {
    Trained wrong = trained(c, known[i].slip);
    suspect_array(c, "first loss", wrong.losses[0], known[i].mistake);
    suspect_array(c, "weight after two steps", wrong.weight, known[i].mistake);
  }
  suspect_error(c, "does not require grad", &NO_GRAPH);
  const char *error = got_error(c);
  const bool devices = strstr(error, "to be on the same device"), replica = strstr(error, "in replica");
  suspect_that(c, devices && replica, &NO_REPLICA);
  suspect_that(c, devices && !replica, &ELSEWHERE);
  suspect_that(c, strstr(error, "a second time"), &STALE); // the first backward frees the graph of its replicas
  suspect_that(c, given(c, "x")->shape.size[0] < given(c, "ids")->count && strstr(error, "is NULL"), &TOO_MANY);
}

static void judge(Case *c) {
  Trained want = trained(c, NONE);
  suspects(c);
  if (!expect_array(c, "first loss", want.losses[0], 1e-4) ||
      !expect_array(c, "weight after two steps", want.weight, 1e-4) ||
      !expect_array(c, "bias after two steps", want.bias, 1e-4) ||
      !expect_array(c, "second loss", want.losses[1], 1e-4) || !judge_rows(c))
    return;
  expect_that(c, got_number(c, "alone") == 0, &IN_TURN, "one replica finished before all others had started");
  Array *ones = new_array(c, FY_FLOAT32, shape(3));
  for (int i = 0; i < 3; i++)
    ones->f32[i] = 1;
  expect_array(c, "unused parameter after two steps", ones, 0);
  expect_device(c, "first loss", names[given(c, "ids")->i64[0]], &ELSEWHERE);
  expect_that(c, !(got(c, "first loss")->flags & ARRAY_REQUIRES_GRAD), &KEPT,
              "first loss: expected no graph, but the loss requires a gradient");
}

EXERCISE = {
    .id = "06_2_data_parallel_by_hand",
    .title = "Data parallelism by hand",
    .after_pass =
        "After scatter, replicate, parallel apply and gather, the first GPU computes the loss of the whole batch.",
    .kind = "write",
    .chapter = 6,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .lesson = APART,
    .stars = {{"concurrent: all replicas compute at the same time", {&IN_TURN}},
              {"balanced: at most N / count rows on a GPU, rounded up", {&UNEVEN}}},
    .hints =
        {"Call fy_scatter, fy_replicate, fy_parallel_apply and fy_gather in this order. Then do a training step as you "
         "would on one GPU.",
         "fy_scatter returns the number of chunks, which may be less than count. Create this many replicas.",
         "Gather on ids[0], where the target is. Then: fy_mse_loss, fy_zero_grad, fy_backward, fy_step, and return "
         "fy_detach(loss)."},
    .functions = {"parallel_step"},
    .tests = {{.name = "one GPU", .ask = ask_single, .judge = judge},
              {.name = "two GPUs", .ask = ask_two, .judge = judge, .devices = 2},
              {.name = "two GPUs, cuda:1 first", .ask = ask_swapped, .judge = judge, .devices = 2},
              {.name = "one row, two GPUs", .ask = ask_row, .judge = judge, .devices = 2},
              {.name = "three rows, four GPUs", .ask = ask_fewer, .judge = judge, .devices = 4},
              {.name = "four GPUs", .ask = ask_four, .judge = judge, .devices = 4},
              {.name = "eight GPUs", .ask = ask_eight, .judge = judge, .devices = 8}},
};
