// SPDX-License-Identifier: MIT
// Exercise 11.1: find the leak. The driver's model notes how much memory is in use at each of its calls.
#include "exercise.h"
#include <string.h>

static const Mistake LOSS_GRAPHS = {
    "the losses keep their graphs",
    "The tensor of the losses requires a gradient: copying a loss into it was recorded, and so it holds the graph of "
    "every step. Copy in fy_no_grad, or copy fy_detach(loss), or a number.",
    "docs/11_memory.md#a-leak-that-python-has-too"};
static const Mistake STAYS = {
    "tensors of every step stay",
    "The result carries no graph, but still each step leaves something behind that is in use: tensors that belong to "
    "no scope that ends with the step, or a reference to one of them.",
    "docs/11_memory.md#when-a-tensor-dies"};
static const Mistake CUT_OFF = {"the graph cut off",
                                "The loss does not depend on the parameters as far as autograd knows: the forward pass "
                                "was in fy_no_grad, or its result detached.",
                                "docs/11_memory.md#what-a-graph-keeps-alive"};
static const Mistake NOT_CLEARED = {
    "gradients not cleared", "backward adds to .grad. Without clearing, each step goes by the gradients of all before.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake NOT_TRAINED = {"parameters unchanged",
                                    "After all batches the parameters are what they were: the steps were left out.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake ONE_GRAPH = {"one step in place of many",
                                  "Each batch was to be computed with the parameters that the batch before has left.",
                                  "docs/05_model_moves.md#training-steps"};
static const Mistake NOT_NOTED = {"losses not noted", "Where the loss of a batch belongs there is still a zero.",
                                  "docs/11_memory.md#a-leak-that-python-has-too"};
static const Mistake LATE = {
    "the loss after the step",
    "The loss that was noted is the one after the step: the batch went through the model again.",
    "docs/05_model_moves.md#training-steps"};
static const Mistake OVERWRITTEN = {"the losses of another call",
                                    "When train was called again, for another model, the losses that it had returned "
                                    "before changed with it: the tensor "
                                    "was kept from call to call. Each call makes its own.",
                                    "docs/11_memory.md#when-a-tensor-dies"};
static const Mistake ON_HOST = {"the losses on the CPU", "The losses were to be on the model's device.",
                                "docs/03_tensor_moves.md#made-there-in-the-first-place"};
static const Mistake NOTHING = {"nothing returned", "The function has to return the losses.",
                                "docs/11_memory.md#a-leak-that-python-has-too"};

// ---- asking ----------------------------------------------------------------------------------------------------------

static void ask_on(Case *c, const char *device, int64_t batches, int64_t rows, int64_t out, bool gaps) {
  int64_t in = draw_int(c, 3, 7);
  Give parameter = {.device = device, .requires_grad = true};
  give_text(c, "device", device);
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(batches, rows, in), -1, 1),
             (Give){.device = device, .strided = gaps});
  give_array(c, "y", draw_array(c, FY_FLOAT32, shape(batches, rows, out), 1, 3), (Give){.device = device});
  give_array(c, "weight", draw_array(c, FY_FLOAT32, shape(out, in), -1, 1), parameter);
  give_array(c, "bias", draw_array(c, FY_FLOAT32, shape(out), -1, 1), parameter);
  give_number(c, "lr", (double)draw_int(c, 5 << 10, 10 << 10) / 1024);
}

static void ask_gpu(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), draw_odd(c, 49, 63), draw_odd(c, 31, 39), false);
}
static void ask_cpu(Case *c) {
  ask_on(c, "cpu", draw_int(c, 5, 9), draw_odd(c, 49, 63), draw_odd(c, 31, 39), false);
}
static void ask_second(Case *c) {
  ask_on(c, "cuda:1", draw_int(c, 5, 9), draw_odd(c, 49, 63), draw_odd(c, 31, 39), false);
}
static void ask_gaps(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 5, 9), draw_odd(c, 49, 63), draw_odd(c, 31, 39), true);
}
static void ask_many(Case *c) {
  ask_on(c, "cuda:0", 256, draw_odd(c, 29, 39), draw_odd(c, 25, 31), false);
}
static void ask_one(Case *c) {
  ask_on(c, "cuda:0", 1, draw_odd(c, 49, 63), draw_odd(c, 31, 39), false);
}
static void ask_large(Case *c) {
  ask_on(c, "cuda:0", draw_int(c, 4, 6), draw_odd(c, 301, 399), draw_odd(c, 51, 69), false);
}

// ---- the training in plain loops -------------------------------------------------------------------------------------

typedef struct Trained {
  Array *weight, *bias, *losses;
} Trained;

typedef struct Variant {
  bool accumulate, frozen, late;
} Variant;

static double schedule(const Trained *t, const float *x, const float *y, int64_t rows, double *weight_grad,
                       double *bias_grad) {
  int64_t out = t->bias->count, in = t->weight->count / out;
  double loss = 0, scale = 1 / (double)(rows * out);
  for (int64_t i = 0; i < rows * out; i++) {
    const float *row = x + i / out * in, *w = t->weight->f32 + i % out * in;
    double error = (double)t->bias->f32[i % out] - y[i];
    for (int64_t k = 0; k < in; k++)
      error += (double)row[k] * w[k];
    loss += scale * error * error;
    bias_grad[i % out] += 2 * scale * error;
    for (int64_t k = 0; k < in; k++)
      weight_grad[i % out * in + k] += 2 * scale * error * row[k];
  }
  return loss;
}

static void clear(const Array *a, double *grad) {
  memset(grad, 0, (size_t)a->count * sizeof(double));
}

static Trained trained(Case *c, Variant v) {
  const Array *x = given(c, "x"), *y = given(c, "y");
  int64_t batches = x->shape.size[0], rows = x->shape.size[1];
  Trained t = {array_cast(c, given(c, "weight"), FY_FLOAT32), array_cast(c, given(c, "bias"), FY_FLOAT32),
               new_array(c, FY_FLOAT32, shape(batches))};
  double *weight_grad = new_array(c, FY_FLOAT64, t.weight->shape)->f64, lr = v.frozen ? 0 : given_number(c, "lr");
  double *bias_grad = new_array(c, FY_FLOAT64, t.bias->shape)->f64;
  double *unused = new_array(c, FY_FLOAT64, t.weight->shape)->f64,
         *unused_too = new_array(c, FY_FLOAT64, t.bias->shape)->f64;
  for (int64_t b = 0; b < batches; b++) {
    const float *xb = x->f32 + b * (x->count / batches), *yb = y->f32 + b * (y->count / batches);
    if (!v.accumulate) {
      clear(t.weight, weight_grad);
      clear(t.bias, bias_grad);
    }
    t.losses->f32[b] = (float)schedule(&t, xb, yb, rows, weight_grad, bias_grad);
    for (int64_t i = 0; i < t.weight->count; i++)
      t.weight->f32[i] -= (float)(lr * weight_grad[i]);
    for (int64_t i = 0; i < t.bias->count; i++)
      t.bias->f32[i] -= (float)(lr * bias_grad[i]);
    if (v.late)
      t.losses->f32[b] = (float)schedule(&t, xb, yb, rows, unused, unused_too);
  }
  return t;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

static void suspects(Case *c) {
  const Array *losses = got(c, "losses");
  int64_t batches = given(c, "x")->shape.size[0];
  suspect_that(c, !*got_error(c) && !losses, &NOTHING);
  suspect_error(c, "does not require grad", &CUT_OFF);
  suspect_that(c, losses && losses->dtype == FY_FLOAT32 && losses->count == batches && losses->f32[batches - 1] == 0,
               &NOT_NOTED);
  if (losses && got(c, "losses of the call after"))
    suspect_array(c, "losses", got(c, "losses of the call after"), &OVERWRITTEN);
  suspect_array(c, "losses", trained(c, (Variant){.late = true}).losses, &LATE);
  suspect_array(c, "losses", trained(c, (Variant){.accumulate = true}).losses, &NOT_CLEARED);
  suspect_array(c, "weight", trained(c, (Variant){.accumulate = true}).weight, &NOT_CLEARED);
  if (losses)
    suspect_array(c, "weight", given(c, "weight"), &NOT_TRAINED);
  const Array *weight = got(c, "weight"), *before = given(c, "weight");
  const bool untrained = weight && weight->dtype == FY_FLOAT32 && weight->count == before->count &&
                         memcmp(weight->data, before->data, (size_t)before->count * sizeof(float)) == 0;
  if (losses && batches > 1)
    suspect_array(c, "losses", trained(c, (Variant){.frozen = true}).losses, untrained ? &NOT_TRAINED : &ONE_GRAPH);
}

static void judge(Case *c) {
  Trained want = trained(c, (Variant){0});
  int64_t batches = given(c, "x")->shape.size[0];
  suspects(c);
  if (!expect_array(c, "losses", want.losses, 1e-4) || !expect_array(c, "weight", want.weight, 1e-4) ||
      !expect_array(c, "bias", want.bias, 1e-4) ||
      !expect_device(c, "losses", given_text(c, "device"),
                     strcmp(got_device(c, "losses"), "cpu") == 0 ? &ON_HOST : NULL))
    return;
  if (!expect_that(c, !(got(c, "losses")->flags & ARRAY_REQUIRES_GRAD), &LOSS_GRAPHS,
                   "losses: expected to require no gradient"))
    return;
  const Array *bytes = got(c, "bytes");
  if (!expect_that(c, bytes && bytes->dtype == FY_INT64 && bytes->count >= batches, &ONE_GRAPH,
                   "forward passes: expected one for each batch"))
    return;
  for (int64_t i = 2; i < bytes->count; i++)
    if (!expect_at_most(c, "bytes in use on the device when a forward pass begins, beyond the second one's",
                        (int64_t)((uint64_t)bytes->i64[i] - (uint64_t)bytes->i64[1]), 1024 * (i - 1), &STAYS))
      return;
}

EXERCISE = {
    .id = "11_1_growing_memory",
    .title = "Find the bug: memory that grows",
    .after_pass = "A tensor that is kept with its graph keeps all that made it; detach it, or keep its number.",
    .kind = "find the bug",
    .chapter = 11,
    .level = LEVEL_EASY,
    .minutes = 20,
    .essential = true,
    .bug = true,
    .lesson = "docs/11_memory.md#a-leak-that-python-has-too",
    .hints =
        {"Print fy_memory_allocated(fy_device_of(x)) at the end of each turn. How many bytes are added, and how many "
         "has the output of the model?",
         "When does loss die? And its output? An fy_scope around the step ends both, unless something else holds "
         "them.",
         "fy_copy_ into losses is an operation with a graph, as long as loss has one: fy_detach(loss) has none. And "
         ".retain_graph keeps what backward would have given up."},
    .functions = {"train"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "an input with gaps", .ask = ask_gaps, .judge = judge},
              {.name = "many batches", .ask = ask_many, .judge = judge},
              {.name = "one batch", .ask = ask_one, .judge = judge},
              {.name = "large and odd", .ask = ask_large, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
