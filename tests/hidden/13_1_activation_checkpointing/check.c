// SPDX-License-Identifier: MIT
// Exercise 13.1: checkpoints in segments. The driver's blocks count their runs; memory is measured on the device.
#include "exercise.h"
#include <math.h>
#include <string.h>

static const Mistake NOTHING = {"no result returned", "Return the output of the last block.",
                                "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake LEFT_OUT = {
    "blocks left out",
    "Some blocks never ran. If count is not a multiple of segments, one or more segments must be longer.",
    "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake NOT_CHECKPOINTED = {
    "no checkpoint", "Every block ran only once, so all activations were kept. Run the segments with fy_checkpoint.",
    "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake ONE_SEGMENT = {
    "whole model in one checkpoint",
    "The second forward pass keeps the activations of all blocks at the same time. Use one checkpoint per segment.",
    "docs/13_checkpointing.md#one-checkpoint-around-the-whole-model"};
static const Mistake EVERY_BLOCK = {
    "one checkpoint per block",
    "Each block has a separate checkpoint, so the inputs of all blocks are kept. Use only `segments` checkpoints.",
    "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake CUT_OFF = {
    "graph cut off",
    "Gradients do not reach all parameters, or not x. Use neither fy_no_grad nor fy_detach with a checkpoint.",
    "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake SHARED_CONTEXT = {
    "context shared by the segments",
    "Backward ran blocks of the wrong segment, because the context had changed. Allocate one context per segment.",
    "docs/13_checkpointing.md#checkpointing-your-own-function"};
static const Mistake TWO_CALLS = {"context shared by two calls",
                                  "Backward of the first call ran blocks of a later call. Allocate new contexts in "
                                  "each call instead of using static ones.",
                                  "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake GONE = {"use after free of the context",
                             "Backward read a context that no longer existed. Allocate it with malloc, copy the block "
                             "pointers into it, and free it with .free_context.",
                             "docs/13_checkpointing.md#checkpointing-your-own-function"};
static const Mistake OTHER_NUMBERS = {
    "different random numbers in the second run",
    "Dropout dropped different elements in the second forward pass than in the first. Leave .preserve_rng_state on.",
    "docs/13_checkpointing.md#bit-identical-gradients"};
static const Mistake TOO_OFTEN = {"nested checkpoints",
                                  "A block ran three times or more. Do not put a checkpoint inside another one.",
                                  "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake TOO_FEW = {
    "segments without a checkpoint",
    "The blocks of more than one segment kept their activations. Checkpoint every segment except the last.",
    "docs/13_checkpointing.md#checkpointing-in-segments"};
static const Mistake LONG_SEGMENT = {"segments of unequal length",
                                     "One segment is much longer than count / segments, so its second forward pass "
                                     "keeps too many activations. Make it longer only by the remainder.",
                                     "docs/13_checkpointing.md#checkpointing-in-segments"};

// ---- asking ----------------------------------------------------------------------------------------------------------

typedef struct Size {
  int64_t count, segments, rows;
  double p;        // of dropout
  bool gaps, data; // data requires no gradient
} Size;

static void ask_on(Case *c, const char *device, Size s) {
  int64_t features = draw_int(c, 5, 9);
  Give plain = {.device = device};
  give_text(c, "device", device);
  give_array(c, "weights", draw_array(c, FY_FLOAT32, shape(s.count, features, features), -0.25, 0.25), plain);
  give_array(c, "biases", draw_array(c, FY_FLOAT32, shape(s.count, features), -0.5, 0.5), plain);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(s.rows, features), -1, 1),
             (Give){.device = device, .requires_grad = !s.data, .strided = s.gaps});
  give_array(c, "gradient", draw_array(c, FY_FLOAT32, shape(s.rows, features), -1, 1), plain);
  give_number(c, "segments", (double)s.segments);
  give_number(c, "p", s.p);
  give_number(c, "seed", (double)draw_int(c, 1, 1000000));
}

static Size usual(Case *c) {
  return (Size){.count = 25, .segments = 5, .rows = draw_odd(c, 1001, 1399)};
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", usual(c));
}
static void ask_cpu(Case *c) {
  ask_on(c, "cpu", usual(c));
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", usual(c));
}
static void ask_rest(Case *c) { // count is no multiple of segments
  int64_t segments = draw_int(c, 4, 6);
  ask_on(c, "cuda:0",
         (Size){.count = 5 * segments +
                         draw_int(c, 2, segments - 1), // more than 1, so that distributing them makes a difference
                .segments = segments,
                .rows = draw_odd(c, 1001, 1399)});
}
static void ask_dropout(Case *c) {
  Size s = usual(c);
  s.p = 0.25;
  ask_on(c, "cuda:0", s);
}
static void ask_twice(Case *c) {
  ask_on(c, "cuda:0", usual(c));
  give_number(c, "twice", 1);
}
static void ask_one(Case *c) {
  ask_on(c, "cuda:0", (Size){.count = 7, .segments = 1, .rows = draw_odd(c, 1001, 1399)});
}
static void ask_all(Case *c) {
  ask_on(c, "cpu", (Size){.count = 11, .segments = 11, .rows = draw_odd(c, 1001, 1399)});
}
static void ask_many(Case *c) {
  const int64_t count = draw_int(c, 70, 76); // more than a fixed array of 64 can hold
  ask_on(c, "cpu", (Size){.count = count, .segments = count, .rows = draw_odd(c, 201, 299)});
}
static void ask_data(Case *c) {
  Size s = usual(c);
  s.data = true;
  ask_on(c, "cuda:0", s);
}
static void ask_gaps(Case *c) {
  Size s = usual(c);
  s.gaps = true;
  ask_on(c, "cuda:0", s);
}

// ---- forward and backward in plain loops -----------------------------------------------------------------------------

typedef struct Result {
  Array *y, *x_grad, *weight_grads, *bias_grads;
} Result;

typedef struct Layers {
  int64_t count, rows, features;
  const float *weights, *biases;
} Layers;

// tanh(x w' + b) of block i, before the residual sum, for one row.
static void inner(const Layers *l, int64_t i, const double *x, double *h) {
  const float *w = l->weights + i * l->features * l->features, *b = l->biases + i * l->features;
  for (int64_t o = 0; o < l->features; o++) {
    double sum = b[o];
    for (int64_t k = 0; k < l->features; k++)
      sum += x[k] * w[o * l->features + k];
    h[o] = tanh(sum);
  }
}

static void back(const Layers *l, int64_t i, const double *x, const double *h, double *grad, double *weight_grads,
                 double *bias_grads) {
  const float *w = l->weights + i * l->features * l->features;
  double to_x[16];
  memcpy(to_x, grad, (size_t)l->features * sizeof *to_x);
  for (int64_t o = 0; o < l->features; o++) {
    const double inside = grad[o] * (1 - h[o] * h[o]);
    bias_grads[i * l->features + o] += inside;
    for (int64_t k = 0; k < l->features; k++) {
      weight_grads[(i * l->features + o) * l->features + k] += inside * x[k];
      to_x[k] += inside * w[o * l->features + k];
    }
  }
  memcpy(grad, to_x, (size_t)l->features * sizeof *to_x);
}

static Result computed(Case *c) {
  const Array *x = given(c, "x"), *weights = given(c, "weights"), *g = given(c, "gradient");
  Layers l = {weights->shape.size[0], x->shape.size[0], x->shape.size[1], weights->f32, given(c, "biases")->f32};
  Result r = {new_array(c, FY_FLOAT32, x->shape), new_array(c, FY_FLOAT32, x->shape),
              new_array(c, FY_FLOAT64, weights->shape), new_array(c, FY_FLOAT64, given(c, "biases")->shape)};
  enum { MOST = 80, WIDE = 16 };
  double state[MOST + 1][WIDE], h[MOST][WIDE], grad[WIDE];
  for (int64_t row = 0; row < l.rows; row++) {
    for (int64_t k = 0; k < l.features; k++) {
      state[0][k] = x->f32[row * l.features + k];
      grad[k] = g->f32[row * l.features + k];
    }
    for (int64_t i = 0; i < l.count; i++) {
      inner(&l, i, state[i], h[i]);
      for (int64_t k = 0; k < l.features; k++)
        state[i + 1][k] = state[i][k] + h[i][k];
    }
    for (int64_t i = l.count - 1; i >= 0; i--)
      back(&l, i, state[i], h[i], grad, r.weight_grads->f64, r.bias_grads->f64);
    for (int64_t k = 0; k < l.features; k++) {
      r.y->f32[row * l.features + k] = (float)state[l.count][k];
      r.x_grad->f32[row * l.features + k] = (float)grad[k];
    }
  }
  r.weight_grads = array_cast(c, r.weight_grads, FY_FLOAT32);
  r.bias_grads = array_cast(c, r.bias_grads, FY_FLOAT32);
  return r;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

typedef struct Runs {
  int64_t least, most;
} Runs;

static Runs runs_of(const Case *c, const char *name) {
  const Array *a = got(c, name);
  Runs r = {-1, -1};
  for (int64_t i = 0; a && a->dtype == FY_INT64 && i < a->count; i++) {
    r.least = r.least < 0 || a->i64[i] < r.least ? a->i64[i] : r.least;
    r.most = a->i64[i] > r.most ? a->i64[i] : r.most;
  }
  return r;
}

// In backward some blocks ran instead of those of other segments.
static bool ran_for_others(const Case *c) {
  Runs all = runs_of(c, "runs"), forward = runs_of(c, "forward runs");
  return forward.least == 1 && forward.most == 1 && all.least == 1 && all.most > 2;
}

static bool judge_values(Case *c) {
  bool dropped = given_number(c, "p") > 0;
  Result want = dropped ? (Result){.y = NULL} : computed(c);
  if (dropped) {
    const Array *y = got(c, "plain result"), *x_grad = got(c, "plain gradient of x");
    const Array *w = got(c, "plain gradients of the weights"), *b = got(c, "plain gradients of the biases");
    if (!y || !x_grad || !w || !b)
      return expect_that(c, false, NULL, "running the blocks without checkpoints gave no gradients");
    want = (Result){array_cast(c, y, FY_FLOAT32), array_cast(c, x_grad, FY_FLOAT32), array_cast(c, w, FY_FLOAT32),
                    array_cast(c, b, FY_FLOAT32)};
  }
  if (!expect_array(c, "result", want.y, 1e-4))
    return false;
  if (!expect_exactly(c, "missing gradients", got_count(c, "missing gradients"), 0, &CUT_OFF))
    return false;
  suspect_that(c, ran_for_others(c), &SHARED_CONTEXT);
  suspect_that(c, dropped, &OTHER_NUMBERS);
  const bool data = !(given(c, "x")->flags & ARRAY_REQUIRES_GRAD);
  return (data || expect_array(c, "gradient of x", want.x_grad, 1e-3)) &&
         expect_array(c, "gradients of the weights", want.weight_grads, 1e-3) &&
         expect_array(c, "gradients of the biases", want.bias_grads, 1e-3);
}

// Bytes of a tensor of x's size, rounded up to 512, and of the gradients of the parameters.
static int64_t unit_of(const Case *c) {
  return (given(c, "x")->count * 4 + 511) / 512 * 512;
}
static int64_t parameters_of(const Case *c) {
  int64_t count = given(c, "weights")->shape.size[0];
  return count * 2 * 1024;
}

// The number of segments that backward ran again. A segment's blocks run one after the other.
static int64_t segments_run(const Case *c) {
  const Array *order = got(c, "order");
  int64_t found = 0;
  for (int64_t i = 0; order && order->dtype == FY_INT64 && i < order->count; i++)
    found += i == 0 || order->i64[i] != order->i64[i - 1] + 1;
  return found;
}

// The most blocks that backward ran again one after the other.
static int64_t longest_segment(const Case *c) {
  const Array *order = got(c, "order");
  int64_t longest = 0, length = 0;
  for (int64_t i = 0; order && order->dtype == FY_INT64 && i < order->count; i++) {
    length = i > 0 && order->i64[i] == order->i64[i - 1] + 1 ? length + 1 : 1;
    longest = length > longest ? length : longest;
  }
  return longest;
}

static int64_t blocks_run_once(const Case *c) {
  const Array *runs = got(c, "runs");
  int64_t found = 0;
  for (int64_t i = 0; runs && runs->dtype == FY_INT64 && i < runs->count; i++)
    found += runs->i64[i] == 1;
  return found;
}

// A block keeps two tensors of x's size for backward, a checkpoint one.
static void judge_memory(Case *c) {
  int64_t count = given(c, "weights")->shape.size[0], segments = (int64_t)given_number(c, "segments");
  int64_t last = count - (segments - 1) * (count / segments), unit = unit_of(c);
  int64_t held = got_count(c, "held"), peak = got_count(c, "peak");
  const Mistake *held_by = runs_of(c, "runs").most == 1 ? &NOT_CHECKPOINTED
                           : blocks_run_once(c) > last  ? &TOO_FEW
                                                        : NULL;
  if (!expect_at_most(c, "bytes in use between forward and backward", held, 3 * (segments + 2 * last) * unit / 2,
                      held_by))
    return;
  const Mistake *peak_by = longest_segment(c) == count         ? &ONE_SEGMENT
                           : 2 * longest_segment(c) > 3 * last ? &LONG_SEGMENT
                                                               : NULL;
  expect_at_most(c, "peak bytes in use", peak, 3 * (segments + 2 * last + 4) * unit / 2 + parameters_of(c), peak_by);
}

static bool ran_others(const Case *c) {
  const Array *order = got(c, "order");
  for (int64_t i = 0; order && order->dtype == FY_INT64 && i < order->count; i++)
    if (order->i64[i] >= 1000)
      return true;
  return false;
}

static void judge_common(Case *c) {
  Runs forward = runs_of(c, "forward runs");
  suspect_that(c, !*got_error(c) && !got(c, "result"), &NOTHING);
  suspect_that(c, got(c, "result") && forward.least == 0, &LEFT_OUT);
  suspect_that(c, ran_for_others(c), &SHARED_CONTEXT);
  suspect_error(c, "array of blocks was read after", &GONE);
  suspect_that(c, strstr(got_error(c), "A different number of tensors") && runs_of(c, "runs").most == 1, &GONE);
  suspect_error(c, "does not require grad", &CUT_OFF);
  if (!judge_values(c))
    return;
  expect_at_most(c, "runs of a block", runs_of(c, "runs").most, 2, &TOO_OFTEN);
  const int64_t again = segments_run(c);
  expect_at_most(c, "checkpoints", again, (int64_t)given_number(c, "segments"),
                 again == got(c, "order")->count ? &EVERY_BLOCK : NULL);
}

static void judge(Case *c) {
  judge_common(c);
  judge_memory(c);
}

static void judge_values_only(Case *c) { // what the allocator rounds up is too much with many small tensors
  judge_common(c);
}
static void judge_twice(Case *c) { // memory is that of two graphs
  suspect_sure(c, ran_others(c), &TWO_CALLS);
  judge_common(c);
  expect_that(c, !ran_others(c), &TWO_CALLS, "backward ran blocks of the later call");
}

EXERCISE = {
    .id = "13_1_activation_checkpointing",
    .title = "Activation checkpointing",
    .after_pass =
        "Activation checkpointing keeps the input of each segment and recomputes the other activations in backward.",
    .kind = "write",
    .chapter = 13,
    .level = LEVEL_MEDIUM,
    .minutes = 30,
    .essential = true,
    .lesson = "docs/13_checkpointing.md#checkpointing-in-segments",
    .hints = {"Write a function that runs the blocks of one segment on inputs[0], and pass it to fy_checkpoint once "
              "per segment.",
              "The context tells the function which blocks to run. It must live until backward, so allocate a struct "
              "for each segment with malloc, and copy the block pointers into it.",
              "fy_checkpoint_with(fy_checkpoint_options(run, segment, .free_context = free), fy_list(x)) frees the "
              "struct when no graph needs it. The last segment can run without a checkpoint."},
    .functions = {"forward_in_segments"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "one segment", .ask = ask_one, .judge = judge},
              {.name = "count is no multiple of segments", .ask = ask_rest, .judge = judge},
              {.name = "an x that requires no gradient", .ask = ask_data, .judge = judge},
              {.name = "a non-contiguous input", .ask = ask_gaps, .judge = judge},
              {.name = "with dropout", .ask = ask_dropout, .judge = judge},
              {.name = "as many segments as blocks", .ask = ask_all, .judge = judge},
              {.name = "more than 64 segments", .ask = ask_many, .judge = judge_values_only},
              {.name = "two graphs at a time", .ask = ask_twice, .judge = judge_twice},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
