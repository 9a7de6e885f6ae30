// SPDX-License-Identifier: MIT
// Exercise 6.1: a convolutional network on as many GPUs as there are.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHANNELS = 3, FILTERS = 16, SIDE = 32, HALF = 16, FEATURES = FILTERS * HALF * HALF, CLASSES = 10 };

static const Mistake NOT_SHARED = {
    "one GPU does it all",
    "There are more GPUs, and they had nothing to do. fy_nn_data_parallel returns the model "
    "that shares its batch; the network inside stays as it is.",
    "docs/06_several_gpus.md#training-on-all-of-them"};
static const Mistake FIXED_IDS = {
    "GPUs fixed in the program",
    "The GPUs were counted when the program was written, and machines have other numbers of them. "
    "NULL and 0 stand for all there are.",
    "docs/06_several_gpus.md#how-many"};
static const Mistake MODEL_LEFT = {
    "wrapped but not moved", "DataParallel copies the parameters from the first GPU, so they have to be moved there.",
    "docs/06_several_gpus.md#what-goes-wrong"};
static const Mistake NOT_ON_FIRST = {
    "moved to another GPU",
    "The parameters are on a GPU, but not on the first of those that share the work, from which they are copied.",
    "docs/06_several_gpus.md#what-goes-wrong"};
static const Mistake NOT_ASKED = {
    "CUDA without asking", "This machine has no GPU. Ask fy_cuda_is_available() or fy_cuda_device_count() first.",
    "docs/02_device_check.md#choosing-once-at-the-start"};
static const Mistake FIXED_BATCH = {
    "batch size fixed in forward",
    "A replica gets a part of the batch. Ask the tensor for its rows, fy_size_at(x, 0), and let -1 stand for the rest.",
    "docs/06_several_gpus.md#batches-that-do-not-divide"};
static const Mistake FLATTENED = {
    "the batch flattened too", "Each picture becomes a row: (N, 16, 16, 16) to (N, 4096). Flatten from dimension 1 on.",
    "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake NO_PADDING = {
    "padding left out", "Without padding = 1 a 3 x 3 convolution makes 30 x 30 of 32 x 32, and fc does not fit.",
    "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake NO_RELU = {"relu left out", "Between convolution and pooling stands a ReLU.",
                                "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake AVERAGE = {"average pooling", "MaxPool2d takes the largest of each 2 x 2, not their mean.",
                                "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake UNREGISTERED = {
    "layer not registered",
    "A layer in a plain field is not found by .to, parameters() or DataParallel. Use fy_register_module for each.",
    "docs/05_model_moves.md#a-model-of-ones-own"};
static const Mistake NO_BIAS = {"bias left out",
                                "conv1 and fc have a bias each, which nn.Conv2d and nn.Linear make by themselves.",
                                "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake OTHER_LAYER = {
    "a layer of another size",
    "conv1 is nn.Conv2d(3, 16, kernel_size=3, padding=1), fc is nn.Linear(16 * 16 * 16, 10).",
    "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake OTHER_POOL = {"pooling with another stride",
                                   "MaxPool2d(2) takes each 2 x 2 once: its stride is 2, and 32 x 32 become 16 x 16.",
                                   "docs/06_several_gpus.md#a-convolutional-network"};
static const Mistake INPUT_CUT = {
    "no gradient for the input",
    "The network may be a part of a larger one: gradients have to find their way through it, to what was given to it.",
    "docs/06_several_gpus.md#where-the-gradients-are"};
static const Mistake NOT_WORKING = {
    "GPUs that only hold rows",
    "Other GPUs were given rows, and the first one computed nearly all of it. Each has to compute its share.",
    "docs/06_several_gpus.md#training-on-all-of-them"};
static const Mistake UNEVEN = {"rows shared unevenly",
                               "One GPU has more rows than batch / GPUs, rounded up, and all others wait for it.",
                               "docs/06_several_gpus.md#batches-that-do-not-divide"};
static const Mistake NO_GRAPH = {"no graph recorded",
                                 "The output has no gradient function: forward ran in fy_no_grad or was detached.",
                                 "docs/06_several_gpus.md#where-the-gradients-are"};

static const Mistake KEPT = {"weights of an earlier call",
                             "The weights were changed since the call before, as a training step does, and some of the "
                             "rows were computed with the old ones. Replicas are made anew in each call.",
                             "docs/06_several_gpus.md#a-convolutional-network"};

// ---- asking ----------------------------------------------------------------------------------------------------------

// Values with so few digits that the convolution is exact in float32, in whatever order it is summed.
static void ask(Case *c, int64_t batch) {
  const char *device = case_devices(c) > 0 ? "cuda:0" : "cpu";
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(batch, CHANNELS, SIDE, SIDE), -1, 1),
             (Give){.device = device, .requires_grad = true});
  give_array(c, "gradient", draw_array(c, FY_FLOAT32, shape(batch, CLASSES), -1, 1), (Give){.device = device});
  give_array(c, "conv1.weight", draw_array(c, FY_FLOAT32, shape(FILTERS, CHANNELS, 3, 3), -0.25, 0.25), (Give){0});
  give_array(c, "conv1.bias", draw_array(c, FY_FLOAT32, shape(FILTERS), -1, 0), (Give){0});
  give_array(c, "fc.weight", draw_array(c, FY_FLOAT32, shape(CLASSES, FEATURES), -0.125, 0.125), (Give){0});
  give_array(c, "fc.bias", draw_array(c, FY_FLOAT32, shape(CLASSES), 1, 4), (Give){0});
}

static void ask_batch(Case *c) {
  ask(c, 4 * draw_int(c, 1, 2));
}
static void ask_odd(Case *c) {
  ask(c, draw_odd(c, 5, 7));
}
// 3 more than a multiple of 4: where the last one takes what is left, it is too much.
static void ask_three_left(Case *c) {
  ask(c, 7);
}
// 2 more than a multiple of 3: the same with three.
static void ask_two_left(Case *c) {
  ask(c, 5);
}
static void ask_current(Case *c) {
  ask_batch(c);
  give_number(c, "current", 1);
}
static void ask_few(Case *c) {
  ask(c, 3);
}
static void ask_eight(Case *c) {
  ask(c, 8);
}
static void ask_one(Case *c) {
  ask(c, 1);
}

// ---- the network in plain loops --------------------------------------------------------------------------------------

// Layers between the input and fc, and which of each 2 x 2 the pooling took.
typedef struct Pooled {
  Array *value;    // (N, 4096)
  Array *positive; // of the chosen one: 1 when the ReLU lets it through
} Pooled;

static double convolution(Case *c, int64_t n, int f, int row, int column) {
  const float *x = given(c, "x")->f32 + n * CHANNELS * SIDE * SIDE;
  const float *w = given(c, "conv1.weight")->f32 + f * CHANNELS * 9;
  double sum = given(c, "conv1.bias")->f32[f];
  for (int k = 0; k < CHANNELS * 9; k++) {
    int i = row + k / 3 % 3 - 1, j = column + k % 3 - 1;
    if (i >= 0 && i < SIDE && j >= 0 && j < SIDE)
      sum += (double)w[k] * x[k / 9 * SIDE * SIDE + i * SIDE + j];
  }
  return sum;
}

static Pooled pooled(Case *c, bool relu, bool average) {
  int64_t batch = given(c, "x")->shape.size[0];
  Pooled p = {new_array(c, FY_FLOAT32, shape(batch, FEATURES)), new_array(c, FY_FLOAT32, shape(batch, FEATURES))};
  for (int64_t i = 0; i < p.value->count; i++) {
    int f = (int)(i % FEATURES / (HALF * HALF)), row = (int)(i / HALF % HALF), column = (int)(i % HALF);
    double largest = -INFINITY, sum = 0;
    for (int k = 0; k < 4; k++) {
      double value = convolution(c, i / FEATURES, f, 2 * row + k / 2, 2 * column + k % 2);
      value = relu ? fmax(value, 0) : value;
      largest = fmax(largest, value);
      sum += value / 4;
    }
    p.value->f32[i] = (float)(average ? sum : largest);
    p.positive->f32[i] = largest > 0;
  }
  return p;
}

static Array *scores(Case *c, const Array *features) {
  const Array *weight = given(c, "fc.weight");
  int64_t batch = features->shape.size[0];
  Array *y = new_array(c, FY_FLOAT32, shape(batch, CLASSES));
  for (int64_t i = 0; i < y->count; i++) {
    double sum = given(c, "fc.bias")->f32[i % CLASSES];
    for (int k = 0; k < FEATURES; k++)
      sum += (double)features->f32[i / CLASSES * FEATURES + k] * weight->f32[i % CLASSES * FEATURES + k];
    y->f32[i] = (float)sum;
  }
  return y;
}

static Array *fc_bias_gradient(Case *c) {
  const Array *g = given(c, "gradient");
  Array *out = new_array(c, FY_FLOAT32, shape(CLASSES));
  for (int64_t i = 0; i < g->count; i++)
    out->f32[i % CLASSES] += g->f32[i];
  return out;
}

static Array *fc_weight_gradient(Case *c, const Pooled *p) {
  const Array *g = given(c, "gradient");
  Array *out = new_array(c, FY_FLOAT32, shape(CLASSES, FEATURES));
  for (int64_t i = 0; i < g->count; i++)
    for (int k = 0; k < FEATURES; k++)
      out->f32[i % CLASSES * FEATURES + k] += g->f32[i] * p->value->f32[i / CLASSES * FEATURES + k];
  return out;
}

// A filter's bias takes part wherever the ReLU let the pooled value through.
static Array *conv_bias_gradient(Case *c, const Pooled *p) {
  const Array *g = given(c, "gradient"), *weight = given(c, "fc.weight");
  Array *out = new_array(c, FY_FLOAT32, shape(FILTERS));
  for (int f = 0; f < FILTERS; f++) {
    double sum = 0;
    for (int64_t i = 0; i < g->count; i++)
      for (int k = f * HALF * HALF; k < (f + 1) * HALF * HALF; k++)
        sum +=
            (double)g->f32[i] * weight->f32[i % CLASSES * FEATURES + k] * p->positive->f32[i / CLASSES * FEATURES + k];
    out->f32[f] = (float)sum;
  }
  return out;
}

typedef struct Convolved {
  Array *weight, *x;
} Convolved;

// Of each 2 x 2 the chosen pixel hands its gradient on to the 27 products that it is the sum of.
static void one_back(Case *c, const Convolved *back, int64_t n, int f, const int at[2], double slope) {
  const float *x = given(c, "x")->f32 + n * CHANNELS * SIDE * SIDE,
              *w = given(c, "conv1.weight")->f32 + f * CHANNELS * 9;
  for (int k = 0; k < CHANNELS * 9; k++) {
    int i = at[0] + k / 3 % 3 - 1, j = at[1] + k % 3 - 1, from = k / 9 * SIDE * SIDE + i * SIDE + j;
    if (i < 0 || i >= SIDE || j < 0 || j >= SIDE)
      continue;
    back->weight->f64[f * CHANNELS * 9 + k] += slope * x[from];
    back->x->f64[n * CHANNELS * SIDE * SIDE + from] += slope * w[k];
  }
}

static Convolved convolved_back(Case *c) {
  const Array *g = given(c, "gradient"), *fc = given(c, "fc.weight");
  Convolved back = {new_array(c, FY_FLOAT64, given(c, "conv1.weight")->shape),
                    new_array(c, FY_FLOAT64, given(c, "x")->shape)};
  for (int64_t i = 0; i < g->shape.size[0] * FEATURES; i++) {
    int f = (int)(i % FEATURES / (HALF * HALF)), row = (int)(i / HALF % HALF), column = (int)(i % HALF), best = 0;
    double largest = -INFINITY, slope = 0;
    for (int k = 0; k < 4; k++) {
      double value = convolution(c, i / FEATURES, f, 2 * row + k / 2, 2 * column + k % 2);
      best = value > largest ? k : best;
      largest = fmax(largest, value);
    }
    for (int k = 0; k < CLASSES; k++)
      slope += (double)g->f32[i / FEATURES * CLASSES + k] * fc->f32[k * FEATURES + i % FEATURES];
    if (largest > 0)
      one_back(c, &back, i / FEATURES, f, (int[]){2 * row + best / 2, 2 * column + best % 2}, slope);
  }
  return (Convolved){array_cast(c, back.weight, FY_FLOAT32), array_cast(c, back.x, FY_FLOAT32)};
}

// Each row is right or is what the calls before made of every picture: fc.bias, and 8.
static bool has_old_rows(Case *c, const Array *want) {
  const Array *have = got_shaped(c, "output", want->shape), *bias = given(c, "fc.bias");
  int64_t old = 0;
  for (int64_t i = 0; have && have->dtype == FY_FLOAT32 && i < want->count; i++) {
    bool is_old = fabs((double)have->f32[i] - (bias->f32[i % CLASSES] + 8)) < 1e-4;
    if (!is_old && !(fabs((double)have->f32[i] - want->f32[i]) <= 1e-3 * fmax(1, fabs((double)want->f32[i]))))
      return false;
    old += is_old;
  }
  return old >= CLASSES;
}

// ---- judging ---------------------------------------------------------------------------------------------------------

// As many GPUs as pieces of batch / devices rows, rounded up, have to work at least; no more can than there are rows.
static int64_t fewest_sharing(const Case *c) {
  int64_t batch = given(c, "x")->shape.size[0], devices = case_devices(c);
  if (devices == 0)
    return 0;
  int64_t piece = (batch + devices - 1) / devices;
  return (batch + piece - 1) / piece;
}

// On each GPU that works, the network's kernels are started: not many fewer than on the one with most.
static int64_t idlest_share(const Case *c) {
  int64_t most = 0, least = INT64_MAX;
  for (int i = 0; i < case_devices(c); i++) {
    int64_t kernels = trace_count(c, TRACE_KERNEL, i);
    most = kernels > most ? kernels : most;
    least = kernels > 0 && kernels < least ? kernels : least;
  }
  return most ? 100 * least / most : 100;
}

// So many GPUs started kernels.
static int64_t computing(const Case *c) {
  int64_t found = 0;
  for (int i = 0; i < case_devices(c); i++)
    found += trace_count(c, TRACE_KERNEL, i) > 0;
  return found;
}

// By a number that a GPU has on another machine; what was never set is any number.
static bool asked_for_another_gpu(const Case *c) {
  const char *error = strstr(got_error(c), "invalid device ordinal"), *number = error ? strstr(error, "] is ") : NULL;
  int ordinal = -1;
  if (number)
    sscanf(number, "] is %d", &ordinal);
  else if (error && (number = strstr(error, "cuda:")))
    sscanf(number, "cuda:%d", &ordinal);
  return ordinal >= 0 && ordinal < 64;
}

static void suspects(Case *c) {
  suspect_error(c, "found one of them on device: cpu", &MODEL_LEFT);
  suspect_error(c, "Expected all tensors to be on the same device", &MODEL_LEFT);
  suspect_error(c, "weight type", &MODEL_LEFT); // a convolution's own words for it
  suspect_error(c, "found one of them on device: cuda", &NOT_ON_FIRST);
  suspect_error(c, "the gradient is on cuda:0", &NOT_ON_FIRST); // and the output on another
  suspect_that(c, asked_for_another_gpu(c), &FIXED_IDS);
  suspect_error(c, "x3600 and 4096x10", &NO_PADDING);
  suspect_error(c, "is invalid for input of size", &FIXED_BATCH);
  suspect_error(c, "x15376 and 4096x10", &OTHER_POOL);
  suspect_that(c, strstr(got_error(c), "shapes cannot be multiplied (1x"), &FLATTENED);
  suspect_error(c, "does not require grad", &NO_GRAPH);
  suspect_that(c, got(c, "output") && got(c, "output")->shape.rank == 1, &FLATTENED);
  suspect_that(c, case_devices(c) == 0 && (strstr(got_error(c), "CUDA") || strstr(got_error(c), "cuda")), &NOT_ASKED);
}

static void judge_gradients(Case *c, const Pooled *p, const char *device) {
  static const char *const names[] = {"conv1.weight.grad", "conv1.bias.grad", "fc.weight.grad", "fc.bias.grad"};
  for (int i = 0; i < 4; i++)
    expect_device(c, names[i], device, NULL);
  expect_array(c, "fc.bias.grad", fc_bias_gradient(c), 1e-4);
  expect_array(c, "fc.weight.grad", fc_weight_gradient(c, p), 1e-4);
  expect_array(c, "conv1.bias.grad", conv_bias_gradient(c, p), 1e-3);
  Convolved back = convolved_back(c);
  expect_array(c, "conv1.weight.grad", back.weight, 1e-3);
  if (expect_that(c, got(c, "x.grad") != NULL, &INPUT_CUT, "x.grad: there is none"))
    expect_array(c, "x.grad", back.x, 1e-3);
}

static void judge(Case *c) {
  const char *device = case_devices(c) > 0 ? "cuda:0" : "cpu";
  int64_t least = fewest_sharing(c), working = event_trace(c).known ? computing(c) : got_count(c, "working");
  int64_t rows = given(c, "x")->shape.size[0], most = rows < case_devices(c) ? rows : case_devices(c);
  suspects(c);
  if (isnan(got_number(c, "parameters"))) {
    expect_that(c, false, NULL, "simple_cnn: the answer returned NULL");
    return;
  }
  const char *missing = got_text(c, "missing");
  bool bias = strstr(missing, "bias") != NULL; // the weights come first
  if (!expect_that(c, !*missing,
                   bias                             ? &NO_BIAS
                   : got_count(c, "parameters") < 4 ? &UNREGISTERED
                                                    : NULL,
                   "parameters of the network: there is no %.40s", missing) ||
      !expect_that(c, !*got_text(c, "of another size"), &OTHER_LAYER, "%.40s: it has another size",
                   got_text(c, "of another size")) ||
      !expect_exactly(c, "parameters of the network", got_count(c, "parameters"), 4, NULL))
    return;
  Pooled p = pooled(c, true, false);
  const Array *want = scores(c, p.value);
  if (!expect_array(c, "output", want, 1e-3)) {
    suspect_that(c, has_old_rows(c, want), &KEPT);
    suspect_array(c, "output", scores(c, pooled(c, false, false).value), &NO_RELU);
    suspect_array(c, "output", scores(c, pooled(c, true, true).value), &AVERAGE);
    return;
  }
  expect_device(c, "output", device, &NOT_ON_FIRST);
  expect_at_least(c, "GPUs that worked on the batch", working, least, working > 1 ? &FIXED_IDS : &NOT_SHARED);
  expect_at_most(c, "GPUs that worked on the batch", working, most, NULL);
  expect_at_least(c, "kernels on the GPU with fewest, in percent of those on the one with most", idlest_share(c), 34,
                  &NOT_WORKING);
  if (case_devices(c) > 0)
    expect_at_most(c, "pictures for one GPU", got_count(c, "most rows"), (rows + case_devices(c) - 1) / case_devices(c),
                   &UNEVEN);
  judge_gradients(c, &p, device);
}

EXERCISE = {
    .id = "06_1_data_parallel",
    .title = "Data parallelism",
    .after_pass = "Data parallelism splits the batch, not the model: a replica sees some of the rows.",
    .kind = "write",
    .chapter = 6,
    .level = LEVEL_MEDIUM,
    .minutes = 20,
    .essential = true,
    .lesson = "docs/06_several_gpus.md#a-convolutional-network",
    .hints = {"The network is a struct with FyModule first; each child is made and registered with fy_register_module.",
              "In forward ask x for its rows, fy_size_at(x, 0): a replica sees fewer of them than the batch has.",
              "fy_nn_data_parallel(cnn, NULL, 0) shares the batch over all GPUs. Its result is the model to call.",
              "Wrapped or not, the parameters have to be on the first GPU: fy_module_to(model, fy_device(\"cuda:0\")), "
              "and only if there is one."},
    .functions = {"simple_cnn", "on_all_devices"},
    .tests = {{"a batch", ask_batch, .judge = judge},
              {"a batch that does not divide", ask_odd, .judge = judge},
              {"one GPU alone", ask_odd, .judge = judge, .at_most = 1},
              {"two GPUs", ask_batch, .judge = judge, .devices = 2},
              {"two GPUs, the second current", ask_current, .judge = judge, .devices = 2},
              {"three GPUs, two rows over", ask_two_left, .judge = judge, .devices = 3, .at_most = 3},
              {"four GPUs, an odd batch", ask_three_left, .judge = judge, .devices = 4},
              {"eight GPUs", ask_eight, .judge = judge, .devices = 8},
              {"fewer rows than GPUs", ask_few, .judge = judge, .devices = 4},
              {"one picture", ask_one, .judge = judge},
              {"without CUDA", ask_odd, .judge = judge, .no_cuda = true}},
};
