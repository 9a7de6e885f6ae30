// SPDX-License-Identifier: MIT
// Exercise 11.3: gradient accumulation. The driver's model records the rows of each forward pass, and the memory in use.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/11_memory.md#four-ways-to-use-less-memory"

static const Mistake EQUAL_SHARES = {"mean of micro-batch means",
                                     "The last micro-batch is smaller, but you gave it the same weight. Multiply each "
                                     "loss by n / N, its share of the rows.",
                                     LESSON};
static const Mistake NOT_SCALED = {"loss not scaled per micro-batch",
                                   "Each loss is a mean over its micro-batch, but you added the losses unscaled. "
                                   "Multiply each loss by n / N before backward.",
                                   LESSON};
static const Mistake LAST_LEFT_OUT = {"last micro-batch dropped",
                                      "N is not a multiple of rows. Include the last, smaller micro-batch.", LESSON};
static const Mistake TOO_LONG = {"last micro-batch out of range",
                                 "The last micro-batch ends at N. It has the smaller of rows and N - i rows.", LESSON};
static const Mistake CLEARED_BETWEEN = {
    "gradients cleared between micro-batches",
    ".grad has the gradient of the last micro-batch only. Do not clear it in the loop, because backward adds to it.",
    LESSON};
static const Mistake CLEARED_BEFORE = {
    "earlier gradients discarded",
    "A parameter had a gradient before the call. Add to it, as backward does, and do not clear it.", LESSON};
static const Mistake WHOLE = {
    "micro-batch too large",
    "More than `rows` rows went through the model in one forward pass. Split x into micro-batches.", LESSON};
static const Mistake SMALLER = {"micro-batches too small",
                                "You used more forward passes than necessary, and each one launches all kernels again. "
                                "Use `rows` rows per micro-batch.",
                                LESSON};
static const Mistake TWICE = {"second forward pass for the loss",
                              "Each sample went through the model twice. Add up the loss while you accumulate the "
                              "gradients.",
                              LESSON};
static const Mistake LAST_LOSS = {
    "loss of the last micro-batch returned",
    "Return the loss of the whole batch. Add up the losses of all micro-batches, each multiplied by n / N.", LESSON};
static const Mistake MEAN_OF_LOSSES = {"returned loss not weighted",
                                       "The gradients are correct, but the returned loss is not. Multiply the loss of "
                                       "each micro-batch by n / N before you add it up.",
                                       LESSON};
static const Mistake WITH_GRAPH = {"returned loss attached to the autograd graph",
                                   "The returned loss requires a gradient, so it keeps graphs alive. Add up "
                                   "fy_detach(loss), or add inside fy_no_grad.",
                                   "docs/11_memory.md#memory-leaks-summing-losses"};
static const Mistake STAYS = {"graphs of earlier micro-batches kept alive",
                              "The memory in use grows with every micro-batch. Call fy_backward for each one, and "
                              "put fy_scope { ... } around it.",
                              "docs/11_memory.md#memory-held-by-the-autograd-graph"};
static const Mistake STEPPED = {"parameters updated", "Only compute the gradients. The caller runs the optimizer step.",
                                LESSON};
static const Mistake NO_GRADIENTS = {
    "backward not called", "You returned the loss, but added no gradient. Call fy_backward for each micro-batch.",
    "docs/11_memory.md#memory-held-by-the-autograd-graph"};
static const Mistake ON_HOST = {"result on the wrong device", "Return the loss on the device of x.",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake IN_AN_INT = {
    "integer overflow", "rows may be 2^31, which does not fit into an int. Use int64_t for tensor sizes.", LESSON};
static const Mistake NOTHING = {"no result returned", "Return the loss.", LESSON};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask_with(Case *c, const char *device, int64_t count, int64_t rows, bool gaps) {
  int64_t in = draw_int(c, 3, 7), out = draw_odd(c, 31, 39);
  Give parameter = {.device = device, .requires_grad = true};
  give_text(c, "device", device);
  give_number(c, "rows", (double)rows);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(count, in), -1, 1), (Give){.device = device, .strided = gaps});
  give_array(c, "target", draw_array(c, FY_FLOAT32, shape(count, out), 1, 3), (Give){.device = device});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), parameter);
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), parameter);
}

static void ask_on(Case *c, const char *device, int64_t count, int64_t rows, bool gaps) {
  ask_with(c, device, count, rows, gaps);
  give_number(c, "gradients there already", 0);
}

// Several micro-batches, and a last one of less than half the size.
static void ask_usual(Case *c, const char *device, bool gaps) {
  int64_t rows = draw_odd(c, 25, 35);
  ask_on(c, device, rows * draw_int(c, 3, 5) + draw_int(c, 2, rows / 2), rows, gaps);
}
static void ask_gpu(Case *c) {
  ask_usual(c, "cuda:0", false);
}
static void ask_cpu(Case *c) {
  ask_usual(c, "cpu", false);
}
static void ask_second(Case *c) {
  ask_usual(c, "cuda:1", false);
}
static void ask_gaps(Case *c) {
  ask_usual(c, "cuda:0", true);
}
static void ask_equal(Case *c) {
  int64_t rows = draw_odd(c, 25, 35);
  ask_on(c, "cuda:0", rows * draw_int(c, 3, 5), rows, false);
}
static void ask_few(Case *c) {
  ask_on(c, "cuda:0", draw_odd(c, 11, 31), 64, false);
}
static void ask_most(Case *c) { // more rows than an int can hold
  ask_on(c, "cpu", draw_odd(c, 11, 31), INT64_C(1) << 31, false);
}
static void ask_one_left(Case *c) {
  int64_t rows = draw_odd(c, 25, 35);
  ask_on(c, "cuda:0", rows * draw_int(c, 3, 5) + 1, rows, false);
}
static void ask_many(Case *c) {
  int64_t rows = draw_odd(c, 5, 9); // more micro-batches than an array of 256 elements can hold
  ask_on(c, "cuda:0", rows * draw_int(c, 300, 320) + draw_int(c, 2, rows / 2), rows, false);
}
static void ask_before(Case *c) {
  int64_t rows = draw_odd(c, 25, 35);
  ask_with(c, "cuda:0", rows * draw_int(c, 3, 5) + draw_int(c, 2, rows / 2), rows, false);
  give_number(c, "gradients there already", 1);
  give_array(c, "weight before", draw_array(c, FY_FLOAT32, given(c, "weight")->shape, 1, 2),
             (Give){.device = "cuda:0"});
  give_array(c, "bias before", draw_array(c, FY_FLOAT32, given(c, "bias")->shape, 1, 2), (Give){.device = "cuda:0"});
}

// ---- the gradients in plain loops --------------------------------------------------------------------------------------

typedef struct Sum {
  Array *weight, *bias, *loss;
} Sum;

// The weight of a micro-batch of `n` out of `count` rows. There are `groups` of them, all but the last with `rows` rows.
typedef double Share(int64_t n, int64_t count, int64_t groups, int64_t rows);
static double by_rows(int64_t n, int64_t count, int64_t groups, int64_t rows) {
  (void)groups;
  (void)rows;
  return (double)n / (double)count;
}
static double equal(int64_t n, int64_t count, int64_t groups, int64_t rows) {
  (void)n;
  (void)count;
  (void)rows;
  return 1 / (double)groups;
}
static double whole(int64_t n, int64_t count, int64_t groups, int64_t rows) {
  (void)n;
  (void)count;
  (void)groups;
  (void)rows;
  return 1;
}

static double full(int64_t n, int64_t count, int64_t groups, int64_t rows) {
  (void)n;
  (void)groups;
  return (double)rows / (double)count;
}

static void add_group(const Case *c, Sum *s, int64_t from, int64_t n, double share) {
  const Array *x = given(c, "x"), *target = given(c, "target"), *weight = given(c, "weight");
  int64_t in = x->shape.size[1], out = target->shape.size[1];
  double scale = share / (double)(n * out);
  for (int64_t i = from * out; i < (from + n) * out; i++) {
    const float *row = x->f32 + i / out * in, *w = weight->f32 + i % out * in;
    double error = (double)given(c, "bias")->f32[i % out] - target->f32[i];
    for (int64_t k = 0; k < in; k++)
      error += (double)row[k] * w[k];
    s->loss->f64[0] += scale * error * error;
    s->bias->f64[i % out] += 2 * scale * error;
    for (int64_t k = 0; k < in; k++)
      s->weight->f64[i % out * in + k] += 2 * scale * error * row[k];
  }
}

// Over at most `groups` micro-batches, from number `first` on.
static Sum summed(Case *c, Share *share, int64_t first, int64_t groups, bool before) {
  int64_t count = given(c, "x")->shape.size[0], rows = (int64_t)given_number(c, "rows");
  int64_t all = (count + rows - 1) / rows;
  Sum s = {new_array(c, FY_FLOAT64, given(c, "weight")->shape), new_array(c, FY_FLOAT64, given(c, "bias")->shape),
           new_array(c, FY_FLOAT64, (Shape){.rank = 0})};
  bool was = before && given_number(c, "gradients there already") == 1;
  if (was)
    for (int64_t i = 0; i < s.weight->count; i++)
      s.weight->f64[i] = given(c, "weight before")->f32[i];
  if (was)
    for (int64_t i = 0; i < s.bias->count; i++)
      s.bias->f64[i] = given(c, "bias before")->f32[i];
  for (int64_t g = first; g < all && g < first + groups; g++) {
    int64_t n = g * rows + rows < count ? rows : count - g * rows;
    add_group(c, &s, g * rows, n, share(n, count, all, rows));
  }
  return (Sum){array_cast(c, s.weight, FY_FLOAT32), array_cast(c, s.bias, FY_FLOAT32),
               array_cast(c, s.loss, FY_FLOAT32)};
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static void suspect_gradients(Case *c, Sum sum, const Mistake *mistake) {
  suspect_array(c, "weight.grad", sum.weight, mistake);
}

static void suspects(Case *c) {
  int64_t count = given(c, "x")->shape.size[0], rows = (int64_t)given_number(c, "rows"),
          all = (count + rows - 1) / rows;
  const Array *loss = got(c, "loss");
  suspect_that(c, !*got_error(c) && !loss, &NOTHING);
  suspect_that(c, loss && !got(c, "weight.grad"), &NO_GRADIENTS);
  if (rows > INT32_MAX)
    suspect_error(c, "length must be non-negative", &IN_AN_INT);
  if (given_number(c, "gradients there already") == 1) {
    suspect_gradients(c, summed(c, by_rows, 0, all, false), &CLEARED_BEFORE);
    suspect_array(c, "weight.grad", given(c, "weight before"), &NO_GRADIENTS);
  }
  if (count % rows && all > 1) {
    suspect_error(c, "exceeds", &TOO_LONG);
    suspect_gradients(c, summed(c, equal, 0, all, true), &EQUAL_SHARES);
    suspect_gradients(c, summed(c, full, 0, all, true), &EQUAL_SHARES);
    suspect_gradients(c, summed(c, by_rows, 0, all - 1, true), &LAST_LEFT_OUT);
    suspect_gradients(c, summed(c, equal, 0, all - 1, true), &LAST_LEFT_OUT);
  }
  if (all > 1) {
    suspect_gradients(c, summed(c, whole, 0, all, true), &NOT_SCALED);
    suspect_gradients(c, summed(c, by_rows, all - 1, 1, false), &CLEARED_BETWEEN);
    suspect_gradients(c, summed(c, equal, all - 1, 1, false), &CLEARED_BETWEEN);
    suspect_gradients(c, summed(c, whole, all - 1, 1, false), &CLEARED_BETWEEN);
    suspect_array(c, "loss", summed(c, whole, all - 1, 1, false).loss, &LAST_LOSS);
    suspect_array(c, "loss", summed(c, by_rows, all - 1, 1, false).loss, &LAST_LOSS);
    suspect_array(c, "loss", summed(c, equal, 0, all, false).loss, &MEAN_OF_LOSSES);
    suspect_array(c, "loss", summed(c, whole, 0, all, false).loss, &MEAN_OF_LOSSES);
  }
}

// Which micro-batches went through the model.
static bool judge_groups(Case *c) {
  int64_t count = given(c, "x")->shape.size[0], rows = (int64_t)given_number(c, "rows");
  const Array *calls = got(c, "rows of calls");
  if (!expect_that(c, calls && calls->dtype == FY_INT64, NULL, "the model was not called"))
    return false;
  for (int64_t i = 0; i < calls->count; i++)
    if (!expect_at_most(c, "rows in a forward pass", calls->i64[i], rows, &WHOLE))
      return false;
  int64_t largest = 0;
  for (int64_t i = 0; i < calls->count; i++)
    largest = calls->i64[i] > largest ? calls->i64[i] : largest;
  const bool twice = largest == (rows < count ? rows : count);
  return expect_at_most(c, "forward passes", calls->count, count / rows + 1, twice ? &TWICE : &SMALLER);
}

static void judge_memory(Case *c) {
  const Array *bytes = got(c, "bytes");
  if (!expect_that(c, bytes && bytes->dtype == FY_INT64, NULL, "the model was not called"))
    return;
  for (int64_t i = 2; i < bytes->count; i++)
    if (!expect_at_most(c, "additional bytes in use at the start of a forward pass, compared with the second pass",
                        bytes->i64[i] - bytes->i64[1], 1024 * (i - 1), &STAYS))
      return;
}

static bool unchanged(const Case *c, const char *name) {
  const Array *before = given(c, name), *after = got_shaped(c, name, before->shape);
  return after && memcmp(after->f32, before->f32, (size_t)before->count * sizeof(float)) == 0;
}

static void judge(Case *c) {
  Sum want = summed(c, by_rows, 0, INT64_MAX / 2, true), single = summed(c, by_rows, 0, INT64_MAX / 2, false);
  suspects(c);
  if (!expect_array(c, "weight.grad", want.weight, 1e-4) || !expect_array(c, "bias.grad", want.bias, 1e-4) ||
      !expect_array(c, "loss", single.loss, 1e-4) ||
      !expect_device(c, "loss", given_text(c, "device"), strcmp(got_device(c, "loss"), "cpu") == 0 ? &ON_HOST : NULL))
    return;
  if (!expect_that(c, !(got(c, "loss")->flags & ARRAY_REQUIRES_GRAD), &WITH_GRAPH,
                   "loss: expected to require no gradient"))
    return;
  if (!expect_that(c, unchanged(c, "weight") && unchanged(c, "bias"), &STEPPED, "weight and bias: expected unchanged"))
    return;
  if (judge_groups(c))
    judge_memory(c);
}

EXERCISE = {
    .id = "11_3_gradient_accumulation",
    .title = "Gradient accumulation",
    .after_pass = "Gradient accumulation: the gradients of a large batch in the memory of a micro-batch.",
    .kind = "write",
    .chapter = 11,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .essential = true,
    .lesson = "docs/11_memory.md#four-ways-to-use-less-memory",
    .stars = {{"at most N / rows + 1 forward passes", {&SMALLER, &TWICE}}},
    .hints = {"fy_narrow(x, 0, i, n) returns n rows, starting at row i. n is `rows`, or the number of remaining rows "
              "if that is smaller.",
              "fy_backward adds to .grad. The mean over the batch is the sum of the micro-batch means, each multiplied "
              "by n / N.",
              "Each micro-batch needs one fy_scope, the loss times n / N, one fy_backward, and fy_add_(total, "
              "fy_detach(loss))."},
    .functions = {"accumulate"},
    .tests = {{.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "micro-batches of equal size", .ask = ask_equal, .judge = judge},
              {.name = "fewer rows than a micro-batch", .ask = ask_few, .judge = judge},
              {.name = "one row in the last micro-batch", .ask = ask_one_left, .judge = judge},
              {.name = "a non-contiguous input", .ask = ask_gaps, .judge = judge},
              {.name = "gradients before the call", .ask = ask_before, .judge = judge},
              {.name = "many micro-batches", .ask = ask_many, .judge = judge},
              {.name = "the largest rows", .ask = ask_most, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
