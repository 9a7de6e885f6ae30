// SPDX-License-Identifier: MIT
// Exercise 11.1: memory that grows. The driver's model records the memory in use at the start of each forward pass.
#include "exercise.h"
#include <string.h>

static const Mistake LOSS_GRAPHS = {"losses attached to the autograd graph",
                                    "The returned losses require a gradient, so they keep the graph of every step "
                                    "alive. Store fy_detach(loss), or copy inside fy_no_grad.",
                                    "docs/11_memory.md#memory-leaks-summing-losses"};
static const Mistake STAYS = {"tensors of every step kept alive",
                              "Tensors of every step are still alive after it. Put fy_scope around the step, and find "
                              "out what still refers to its tensors afterward.",
                              "docs/11_memory.md#tensor-lifetime"};
static const Mistake CUT_OFF = {"no autograd graph",
                                "The loss does not depend on the parameters. Run the forward pass with gradients "
                                "enabled, and do not detach any tensor before backward.",
                                "docs/11_memory.md#memory-held-by-the-autograd-graph"};
static const Mistake NOT_CLEARED = {"gradients not cleared",
                                    "backward adds to .grad. Clear the gradients after each step with fy_set_grad(p, "
                                    "NULL).",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake NOT_TRAINED = {"parameters not updated",
                                    "The parameters are the same after training. Update them after each backward.",
                                    "docs/05_model_moves.md#training-steps"};
static const Mistake ONE_GRAPH = {"one update for all batches",
                                  "Update the parameters after each batch. The next batch must use the new values.",
                                  "docs/05_model_moves.md#training-steps"};
static const Mistake NOT_NOTED = {"losses not stored",
                                  "The returned losses are all zero. Copy each loss into its element of the result.",
                                  "docs/11_memory.md#memory-leaks-summing-losses"};
static const Mistake LATE = {"loss computed after the update",
                             "Store the loss that you called backward on. Do not run the batch through the model "
                             "again.",
                             "docs/05_model_moves.md#training-steps"};
static const Mistake OVERWRITTEN = {"result shared between calls",
                                    "A later call changed the losses that an earlier call had returned. Create a new "
                                    "tensor in each call, not a static one.",
                                    "docs/11_memory.md#tensor-lifetime"};
static const Mistake ON_HOST = {"result on the wrong device",
                                "Create the losses on the device of x: fy_zeros(..., .device = fy_device_of(x)).",
                                "docs/03_tensor_moves.md#creating-tensors-on-the-device"};
static const Mistake NOTHING = {"no result returned", "Return the losses.",
                                "docs/11_memory.md#memory-leaks-summing-losses"};

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
  bool zeros = losses && losses->dtype == FY_FLOAT32 && losses->count == batches;
  for (int64_t i = 0; zeros && i < batches; i++)
    zeros = losses->f32[i] == 0;
  suspect_that(c, zeros, &NOT_NOTED);
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
  const bool attached = got(c, "losses")->flags & ARRAY_REQUIRES_GRAD;
  const Array *bytes = got(c, "bytes");
  if (!expect_that(c, bytes && bytes->dtype == FY_INT64 && bytes->count >= batches, NULL,
                   "forward passes: expected one per batch"))
    return;
  for (int64_t i = 2; i < bytes->count; i++)
    if (!expect_at_most(c, "additional bytes in use at the start of a forward pass, compared with the second pass",
                        (int64_t)((uint64_t)bytes->i64[i] - (uint64_t)bytes->i64[1]), 1024 * (i - 1),
                        attached ? &LOSS_GRAPHS : &STAYS))
      return;
  expect_that(c, !attached, &LOSS_GRAPHS, "losses: expected to require no gradient");
}

EXERCISE = {
    .id = "11_1_growing_memory",
    .title = "Find the bug: memory that grows",
    .after_pass = "A tensor keeps its autograd graph alive, so store the detached loss. A scope around each step frees "
                  "the other tensors.",
    .kind = "find the bug",
    .chapter = 11,
    .level = LEVEL_EASY,
    .minutes = 20,
    .essential = true,
    .bug = true,
    .lesson = "docs/11_memory.md#memory-leaks-summing-losses",
    .hints =
        {"Print fy_memory_allocated(fy_device_of(x)) in each iteration. By how much does it grow, and how large is "
         "the model's output?",
         "For each tensor of a step, ask what frees it. An fy_scope { ... } around the step frees the tensors created "
         "in it, unless another tensor still refers to them.",
         "Print fy_requires_grad(losses) after the loop. Which operation in the loop attached a graph to it?",
         "Put fy_scope around the step, remove .retain_graph, and copy fy_detach(loss) instead of loss."},
    .functions = {"train"},
    .tests = {{.name = "on a GPU", .ask = ask_gpu, .judge = judge},
              {.name = "on the CPU", .ask = ask_cpu, .judge = judge},
              {.name = "one batch", .ask = ask_one, .judge = judge},
              {.name = "a non-contiguous input", .ask = ask_gaps, .judge = judge},
              {.name = "many batches", .ask = ask_many, .judge = judge},
              {.name = "large batches", .ask = ask_large, .judge = judge},
              {.name = "on the second GPU", .ask = ask_second, .judge = judge, .devices = 2},
              {.name = "without CUDA", .ask = ask_cpu, .judge = judge, .no_cuda = true}},
};
