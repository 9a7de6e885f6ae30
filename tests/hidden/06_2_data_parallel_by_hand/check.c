// SPDX-License-Identifier: MIT
// Exercise 6.2: DataParallel's four parts, and a step of training around them.
#include "exercise.h"
#include <math.h>
#include <string.h>

#define APART "docs/06_several_gpus.md#dataparallel-taken-apart"
static const char *const names[] = {"cuda:0", "cuda:1", "cuda:2", "cuda:3", "cuda:4", "cuda:5", "cuda:6", "cuda:7"};

#define UNEVEN "docs/06_several_gpus.md#batches-that-do-not-divide"

static const Mistake ONE_GPU = {"all rows on one GPU",
                                "The pieces have to be scattered, and each worked on by a replica.", APART};
static const Mistake SHARES = {"other shares of the rows",
                               "A piece has N / count rows, rounded up; the last one what is left.", UNEVEN};
static const Mistake TOO_MANY = {
    "more replicas than pieces",
    "A small batch has fewer pieces than there are GPUs: fy_scatter returns how many. The rest of the array is not "
    "filled, and a replica there has nothing to do.",
    UNEVEN};
static const Mistake PIECE = {"the loss of one piece", "The loss is that of all outputs, put together by fy_gather.",
                              APART};
static const Mistake PIECES_MEAN = {"the mean of the pieces' means",
                                    "Pieces of unequal size count alike in it. Gather first, and take the mean of all.",
                                    UNEVEN};
static const Mistake STALE = {
    "replicas of an earlier step",
    "The step changes the model's parameters, and the replicas that were made before are copies "
    "of the old ones. Replicate in every step.",
    APART};
static const Mistake IN_TURN = {
    "one replica after the other",
    "Each replica waited for the one before. fy_parallel_apply, called once with all of them, gives each a "
    "thread.",
    APART};
static const Mistake NO_STEP = {"no step", "backward computes gradients; fy_step is what changes the parameters.",
                                "docs/05_model_moves.md#training-steps"};
static const Mistake ACCUMULATED = {"gradients not cleared",
                                    "backward adds to the gradients that are there: fy_zero_grad.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake BEFORE = {
    "gradients of an earlier step",
    "The parameters had a .grad before the first step, and its gradients were added to that: "
    "clear them before backward.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake ZEROS = {"zeros in place of no gradient",
                              "A parameter that no replica used has a .grad, of zeros: an optimizer with momentum or "
                              "weight decay would change it. fy_zero_grad leaves none.",
                              "docs/05_model_moves.md#training-steps"};
static const Mistake FOUR = {"not all of the GPUs",
                             "Some of the GPUs in ids had no piece, although there were rows: ids has up to eight.",
                             APART};
static const Mistake NO_GRAPH = {"the graph cut off",
                                 "The loss has to lead back through gather and the replicas to the model's parameters.",
                                 "docs/06_several_gpus.md#where-the-gradients-are"};
static const Mistake ELSEWHERE = {"gathered on another GPU",
                                  "The target is on ids[0], which need not be GPU 0. Gather there.", APART};
static const Mistake KEPT = {"the loss with its graph", "The loss is a number to be looked at: fy_detach.",
                             "docs/06_several_gpus.md#training-on-all-of-them"};

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
static void ask_turned(Case *c) {
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

static void ask_fewer(Case *c) { // a GPU for each row, and one without
  ask_on(c, 3, 4, (const int64_t[]){1, 3, 0, 2});
}

// ---- two steps in plain loops --------------------------------------------------------------------------------------------

typedef enum Slip { NONE, FIRST_PIECE, MEAN_OF_MEANS, STALE_REPLICAS, WITHOUT_STEP, ADDED_UP, CLEARED_AFTER } Slip;
enum { GRAD_BEFORE = 7 }; // what the driver leaves in .grad

typedef struct Trained {
  Array *weight, *bias, *losses[2];
} Trained;

// What an error of this row counts for in the loss, per output.
static double weight_of(const Case *c, Slip slip, int64_t row) {
  int64_t n = given(c, "x")->shape.size[0], count = given(c, "ids")->count, piece = (n + count - 1) / count;
  int64_t pieces = (n + piece - 1) / piece, own = row / piece < pieces - 1 ? piece : n - (pieces - 1) * piece;
  if (slip == FIRST_PIECE)
    return row < piece ? 1.0 / (double)piece : 0;
  return slip == MEAN_OF_MEANS ? 1.0 / (double)(pieces * own) : 1.0 / (double)n;
}

// A replica on the model's own GPU has its parameters themselves, the others have copies.
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

// Of eight GPUs the first ones alone had rows, shared as among so many; with so many rows a rounded share does not do that.
static bool first_alone(const Array *rows, const Array *ids, int64_t n) {
  int64_t used = 0, right = 0;
  while (used < ids->count && rows->i64[ids->i64[used]] > 0)
    used++;
  for (int64_t i = 0, left = n; used > 0 && i < ids->count; i++) {
    int64_t piece = (n + used - 1) / used, want = left < piece ? left : piece;
    right += rows->i64[ids->i64[i]] == want;
    left -= want;
  }
  return ids->count == 8 && used > 0 && used < 8 && right == 8;
}

static bool judge_rows(Case *c) {
  const Array *rows = got_shaped(c, "rows", shape(16)), *ids = given(c, "ids");
  int64_t n = given(c, "x")->shape.size[0], piece = (n + ids->count - 1) / ids->count, working = 0;
  if (!expect_that(c, rows && rows->dtype == FY_INT64, NULL, "parallel_step did not return"))
    return false;
  for (int i = 0; i < 16; i++)
    working += rows->i64[i] > 0;
  for (int64_t i = 0, left = n; i < ids->count; i++) {
    int64_t want = left < piece ? left : piece;
    left -= want;
    if (!expect_exactly(c, "rows on a GPU in the first step", rows->i64[ids->i64[i]], want,
                        ids->count > 1 && n > 1 && working < 2 ? &ONE_GPU
                        : first_alone(rows, ids, n)            ? &FOUR
                                                               : &SHARES))
      return false;
  }
  return true;
}

static void suspects(Case *c) {
  static const struct {
    Slip slip;
    const Mistake *mistake;
  } known[] = {{FIRST_PIECE, &PIECE},    {MEAN_OF_MEANS, &PIECES_MEAN}, {STALE_REPLICAS, &STALE},
               {WITHOUT_STEP, &NO_STEP}, {ADDED_UP, &ACCUMULATED},      {CLEARED_AFTER, &BEFORE}};
  for (size_t i = 0; i < sizeof known / sizeof *known && got(c, "first loss"); i++) {
    Trained wrong = trained(c, known[i].slip);
    suspect_array(c, "first loss", wrong.losses[0], known[i].mistake);
    suspect_array(c, "weight after", wrong.weight, known[i].mistake);
  }
  suspect_error(c, "does not require grad", &NO_GRAPH);
  suspect_error(c, "same device", &ELSEWHERE);
  suspect_error(c, "a second time", &STALE); // their graph went with the first backward
  bool small = given(c, "x")->shape.size[0] < given(c, "ids")->count;
  suspect_that(c,
               small && *got_error(c) && !strstr(got_error(c), "same device") && !strstr(got_error(c), "second time"),
               &TOO_MANY);
}

static void judge(Case *c) {
  Trained want = trained(c, NONE);
  suspects(c);
  if (!expect_array(c, "first loss", want.losses[0], 1e-4) || !expect_array(c, "weight after", want.weight, 1e-4) ||
      !expect_array(c, "bias after", want.bias, 1e-4) || !expect_array(c, "second loss", want.losses[1], 1e-4) ||
      !judge_rows(c))
    return;
  expect_exactly(c, "bytes taken on GPUs without a piece", (int64_t)got_number(c, "bytes where no piece is"), 0,
                 &TOO_MANY);
  expect_that(c, got_number(c, "alone") == 0, &IN_TURN,
              "a replica was in its forward pass before the others came to theirs");
  Array *ones = new_array(c, FY_FLOAT32, shape(3));
  for (int i = 0; i < 3; i++)
    ones->f32[i] = 1;
  expect_array(c, "spare after", ones, 0);
  expect_that(c, got_number(c, "spare has a gradient") == 0, &ZEROS, "a parameter that nobody used has a gradient");
  expect_device(c, "first loss", names[given(c, "ids")->i64[0]], &ELSEWHERE);
  expect_that(c, !(got(c, "first loss")->flags & ARRAY_REQUIRES_GRAD), &KEPT, "the loss carries a graph");
}

EXERCISE = {
    .id = "06_2_data_parallel_by_hand",
    .title = "Data parallelism by hand",
    .after_pass = "Pieces out, replicas, outputs back to one GPU: the loss there is that of the whole batch.",
    .kind = "write",
    .chapter = 6,
    .level = LEVEL_HARD,
    .minutes = 45,
    .lesson = APART,
    .hints =
        {"fy_scatter, fy_replicate, fy_parallel_apply, fy_gather, in this order, and after them a training step as any "
         "other.",
         "fy_scatter returns how many pieces there are. Make so many replicas, and no more.",
         "The gathered output is on ids[0], and so is the target."},
    .functions = {"parallel_step"},
    .tests = {{.name = "one GPU", .ask = ask_single, .judge = judge, .crash = &TOO_MANY},
              {.name = "two GPUs, an odd batch", .ask = ask_two, .judge = judge, .devices = 2},
              {.name = "two GPUs, the second first", .ask = ask_turned, .judge = judge, .devices = 2},
              {.name = "a single row", .ask = ask_row, .judge = judge, .devices = 2, .crash = &TOO_MANY},
              {.name = "three rows, four GPUs", .ask = ask_fewer, .judge = judge, .devices = 4, .crash = &TOO_MANY},
              {.name = "four GPUs in another order", .ask = ask_four, .judge = judge, .devices = 4},
              {.name = "eight GPUs", .ask = ask_eight, .judge = judge, .devices = 8}},
};
