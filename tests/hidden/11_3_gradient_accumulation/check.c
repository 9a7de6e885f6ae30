// SPDX-License-Identifier: MIT
// Exercise 11.3: gradient accumulation. The driver's model notes its calls: rows, and memory in use.
#include "exercise.h"
#include <string.h>

#define LESSON "docs/11_memory.md#needing-less"

static const Mistake EQUAL_SHARES = {"a short group counted like the others",
                                     "The last group has fewer rows, and got the weight of the others. The mean of "
                                     "means is the mean of all only where the "
                                     "groups are of equal size; a group's share is its own rows out of N.",
                                     LESSON};
static const Mistake NOT_SCALED = {
    "the groups' means added up",
    "Each group's loss is a mean over the group. Their gradients were added as they are, "
    "which gives about as many times too much as there are groups.",
    LESSON};
static const Mistake LAST_LEFT_OUT = {
    "the last group left out", "N is no multiple of the group's size. What remains is a group, too, a shorter one.",
    LESSON};
static const Mistake TOO_LONG = {"the last group too long", "The last group ends where the batch ends.", LESSON};
static const Mistake CLEARED_BETWEEN = {"gradients cleared between the groups",
                                        "What is in .grad is the last group's alone: it was cleared before each.",
                                        LESSON};
static const Mistake CLEARED_BEFORE = {"earlier gradients thrown away",
                                       "There was a gradient already, and it was to be added to, as backward does.",
                                       LESSON};
static const Mistake WHOLE = {"more than a group at once",
                              "More than `rows` rows went through the model together; memory is meant for so many.",
                              LESSON};
static const Mistake SMALLER = {
    "smaller groups than allowed",
    "The groups were to have `rows` rows, all but the last: each further group costs the start "
    "of all kernels once more.",
    LESSON};
static const Mistake TWICE = {
    "the batch gone through twice",
    "After the groups, the samples went through the model once more. The loss is known by then.", LESSON};
static const Mistake LAST_LOSS = {"the loss of the last group",
                                  "What is returned is one group's loss, and not that of the whole batch.", LESSON};
static const Mistake MEAN_OF_LOSSES = {
    "a loss not weighted by rows",
    "The gradients are right. The returned loss counts a short group like the others, "
    "or adds the groups' means.",
    LESSON};
static const Mistake WITH_GRAPH = {
    "the loss with its graph",
    "The returned loss requires a gradient, so it keeps graphs alive. Add up fy_detach(loss), "
    "in fy_no_grad, or numbers.",
    "docs/11_memory.md#a-leak-that-python-has-too"};
static const Mistake STAYS = {
    "groups stay in memory",
    "When a later group begins, more is in use than when the second began: an earlier group's graph "
    "or tensors are still there. Each group needs its own backward, and its tensors an end.",
    "docs/11_memory.md#what-a-graph-keeps-alive"};
static const Mistake STEPPED = {"the parameters changed",
                                "Only the gradients were asked for; the step is the caller's.", LESSON};
static const Mistake NO_GRADIENTS = {"no gradients", "The loss is there, but backward was not called: .grad is empty.",
                                     "docs/11_memory.md#what-a-graph-keeps-alive"};
static const Mistake ON_HOST = {"the loss on the CPU", "The loss was to be on the model's device.",
                                "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake IN_AN_INT = {
    "more than an int holds", "rows may be 2^31, which as an int is negative. Sizes of tensors are int64_t.", LESSON};
static const Mistake NOTHING = {"nothing returned", "The function has to return the error.", LESSON};

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

// Several groups, and a shorter one of less than half the size.
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
static void ask_most(Case *c) { // rows for which an int has no room
  ask_on(c, "cpu", draw_odd(c, 11, 31), INT64_C(1) << 31, false);
}
static void ask_one_left(Case *c) {
  int64_t rows = draw_odd(c, 25, 35);
  ask_on(c, "cuda:0", rows * draw_int(c, 3, 5) + 1, rows, false);
}
static void ask_many(Case *c) {
  int64_t rows = draw_odd(c, 5, 9); // more groups than an array of 256 has places
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

// The weight of a group of `n` rows out of `count`, where there are `groups`, all but the last of `rows`.
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

// Over the groups from `first` on, `groups` of them or all that there are.
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

// The groups that came through the model.
static bool judge_groups(Case *c) {
  int64_t count = given(c, "x")->shape.size[0], rows = (int64_t)given_number(c, "rows"),
          groups = (count + rows - 1) / rows;
  const Array *calls = got(c, "rows of calls");
  if (!expect_that(c, calls && calls->dtype == FY_INT64, NULL, "the model was not called"))
    return false;
  for (int64_t i = 0; i < calls->count; i++)
    if (!expect_at_most(c, "rows in a forward pass", calls->i64[i], rows, &WHOLE))
      return false;
  bool whole_groups = calls->count && calls->i64[0] == (rows < count ? rows : count);
  if (!expect_at_most(c, "forward passes", calls->count, groups, whole_groups ? &TWICE : &SMALLER))
    return false;
  for (int64_t i = 0; i < calls->count; i++)
    if (!expect_exactly(c, "rows in a forward pass", calls->i64[i], i + 1 < groups ? rows : count - i * rows, &SMALLER))
      return false;
  return true;
}

static void judge_memory(Case *c) {
  const Array *bytes = got(c, "bytes");
  if (!expect_that(c, bytes && bytes->dtype == FY_INT64, NULL, "the model was not called"))
    return;
  for (int64_t i = 2; i < bytes->count; i++)
    if (!expect_at_most(c, "bytes in use on the device when a forward pass begins, beyond the second one's",
                        bytes->i64[i] - bytes->i64[1], 1024 * (i - 1), &STAYS))
      return;
}

static bool unchanged(const Case *c, const char *name) {
  const Array *before = given(c, name), *after = got_shaped(c, name, before->shape);
  return after && memcmp(after->f32, before->f32, (size_t)before->count * sizeof(float)) == 0;
}

static void judge(Case *c) {
  Sum want = summed(c, by_rows, 0, INT64_MAX / 2, true), alone = summed(c, by_rows, 0, INT64_MAX / 2, false);
  suspects(c);
  if (!expect_array(c, "weight.grad", want.weight, 1e-4) || !expect_array(c, "bias.grad", want.bias, 1e-4) ||
      !expect_array(c, "loss", alone.loss, 1e-4) ||
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
    .after_pass = "Gradients of small batches add up to that of a large one, in the memory of a small one.",
    .kind = "write",
    .chapter = 11,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .essential = true,
    .lesson = "docs/11_memory.md#needing-less",
    .hints =
        {"fy_narrow(x, 0, i, n) are the n rows from i on. n is `rows`, or what is left of the batch.",
         "fy_backward adds to .grad. The mean over all elements is the sum over the groups of the group's mean, each "
         "times its share of the rows, n / N.",
         "One fy_backward and one fy_scope for each group, and the number that is returned is added up from "
         "fy_detach(loss)."},
    .functions = {"accumulate"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "an input with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "groups of equal size", .ask = ask_equal, .judge = judge},
              {.name = "fewer rows than a group", .ask = ask_few, .judge = judge},
              {.name = "a group of all that there may be", .ask = ask_most, .judge = judge},
              {.name = "one row left over", .ask = ask_one_left, .judge = judge},
              {.name = "many groups", .ask = ask_many, .judge = judge},
              {.name = "gradients there already", .ask = ask_before, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
