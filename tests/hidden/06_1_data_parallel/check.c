// SPDX-License-Identifier: MIT
// Exercise 6.1: a convolutional network on as many GPUs as there are.
#include "exercise.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHANNELS = 3, FILTERS = 16, SIDE = 32, HALF = 16, FEATURES = FILTERS * HALF * HALF, CLASSES = 10 };

#define CNN "docs/06_several_gpus.md#a-convolutional-network"
#define UNEVEN_BATCHES "docs/06_several_gpus.md#batches-that-do-not-divide-evenly"

static const Mistake NOT_SPLIT = {
    "batch not split across GPUs",
    "Only one GPU computed. fy_nn_data_parallel returns a new model that splits its batch: return that model.",
    "docs/06_several_gpus.md#training-with-dataparallel"};
static const Mistake IDLE = {"idle GPUs",
                             "Some GPUs computed nothing. Split the batch across all GPUs of the machine: pass NULL "
                             "and 0 to fy_nn_data_parallel.",
                             "docs/06_several_gpus.md#count-the-gpus"};
static const Mistake FIXED_IDS = {
    "hard-coded device IDs",
    "You used a GPU that this machine does not have. Pass NULL and 0 to fy_nn_data_parallel to use all GPUs.",
    "docs/06_several_gpus.md#count-the-gpus"};
static const Mistake MODEL_LEFT = {
    "model left on the CPU",
    "DataParallel expects the parameters on cuda:0. Move the model to cuda:0 with fy_module_to.",
    "docs/06_several_gpus.md#dataparallel-errors"};
static const Mistake NOT_ON_FIRST = {"wrong primary GPU",
                                     "Parameters, output and gradients must be on cuda:0, whichever GPU is current. "
                                     "DataParallel stores them on the first of its GPUs.",
                                     "docs/06_several_gpus.md#dataparallel-errors"};
static const Mistake NOT_ASKED = {
    "missing CUDA availability check",
    "This machine has no GPU. Check fy_cuda_is_available() or fy_cuda_device_count() before you use a GPU.",
    "docs/02_device_check.md#device-agnostic-code"};
static const Mistake FIXED_BATCH = {
    "hard-coded batch size", "A replica gets only a part of the batch. Get the number of rows from fy_size_at(x, 0).",
    UNEVEN_BATCHES};
static const Mistake FLATTENED = {
    "batch dimension flattened",
    "Keep the batch dimension: flatten (N, 16, 16, 16) to (N, 4096), so that each image becomes one row.", CNN};
static const Mistake NO_PADDING = {"missing padding",
                                   "Without .padding = 1, a 3 x 3 convolution reduces 32 x 32 pixels to 30 x 30, and "
                                   "fc gets the wrong number of features.",
                                   CNN};
static const Mistake NO_RELU = {"missing activation function", "Apply ReLU between the convolution and the pooling.",
                                CNN};
static const Mistake AVERAGE = {"average pooling instead of max pooling",
                                "Take the largest value of each 2 x 2 window, not the mean.", CNN};
static const Mistake UNREGISTERED = {
    "submodule not registered",
    "fy_parameters finds only registered layers. Call fy_register_module for each layer of the network.",
    "docs/05_model_moves.md#define-a-module"};
static const Mistake NO_BIAS = {"missing bias", "conv1 and fc each have a bias. Leave .no_bias unset.", CNN};
static const Mistake OTHER_LAYER = {
    "wrong layer size", "conv1 is nn.Conv2d(3, 16, kernel_size=3, padding=1), and fc is nn.Linear(16 * 16 * 16, 10).",
    CNN};
static const Mistake OTHER_POOL = {
    "wrong pooling stride", "MaxPool2d(2) has a stride of 2 and reduces 32 x 32 to 16 x 16. Leave .stride unset.", CNN};
static const Mistake INPUT_CUT = {
    "input detached from the graph",
    "Gradients must also reach the input, because the network may be part of a larger network. Do not detach x.",
    "docs/06_several_gpus.md#gradients-add-up-on-the-first-gpu"};
static const Mistake NOT_WORKING = {
    "computation on one GPU only",
    "All GPUs received rows, but one GPU did nearly all of the computation. Run the whole network on each GPU.",
    "docs/06_several_gpus.md#training-with-dataparallel"};
static const Mistake UNEVEN = {
    "load imbalance",
    "One GPU has more than N / GPUs images (rounded up), so the other GPUs wait for it. Split the batch evenly.",
    UNEVEN_BATCHES};
static const Mistake NO_GRAPH = {
    "output detached from the graph",
    "The output has no grad_fn. Do not use fy_no_grad or fy_detach in the forward function.",
    "docs/06_several_gpus.md#gradients-add-up-on-the-first-gpu"};
static const Mistake STALE = {"stale replicas",
                              "The weights changed after the previous call, but some rows were computed with the old "
                              "weights. Copy the weights to the GPUs in each call.",
                              CNN};

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
// 3 more than a multiple of 4: too many for the last GPU if it takes the rest.
static void ask_three_left(Case *c) {
  ask(c, 7);
}
// 2 more than a multiple of 3: the same with three GPUs.
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

// The input of fc, and which of each 2 x 2 window the pooling chose.
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

// A filter's bias gets the gradient of each pooled value that the ReLU passed.
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

// The chosen pixel of a 2 x 2 window passes its gradient to the 27 products that it is the sum of.
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

// Each row is right, or has the output of the earlier calls for any image: fc.bias + 8.
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

// The number of GPUs that chunks of batch / devices rows, rounded up, are enough for: as torch.chunk splits the batch.
static int64_t fewest_sharing(const Case *c) {
  int64_t batch = given(c, "x")->shape.size[0], devices = case_devices(c);
  if (devices == 0)
    return 0;
  int64_t chunk = (batch + devices - 1) / devices;
  return (batch + chunk - 1) / chunk;
}

// Kernels on the GPU with the fewest (of those that have any), in percent of the GPU with the most.
static int64_t smallest_share(const Case *c) {
  int64_t most = 0, least = INT64_MAX;
  for (int i = 0; i < case_devices(c); i++) {
    int64_t kernels = trace_count(c, TRACE_KERNEL, i);
    most = kernels > most ? kernels : most;
    least = kernels > 0 && kernels < least ? kernels : least;
  }
  return most ? 100 * least / most : 100;
}

// The number of GPUs that ran kernels.
static int64_t computing(const Case *c) {
  int64_t found = 0;
  for (int i = 0; i < case_devices(c); i++)
    found += trace_count(c, TRACE_KERNEL, i) > 0;
  return found;
}

// The error names a device ordinal that this machine does not have. An uninitialized ordinal may be any number.
static bool asked_for_another_gpu(const Case *c) {
  const char *error = strstr(got_error(c), "invalid device ordinal"), *number = error ? strstr(error, "] is ") : NULL;
  int ordinal = -1;
  if (number)
    sscanf(number, "] is %d", &ordinal);
  else if (error && (number = strstr(error, "cuda:")))
    sscanf(number, "cuda:%d", &ordinal);
  return ordinal >= 0 && ordinal < 64;
}

// A view to another number of rows than the tensor has images.
static bool viewed_as_whole_batch(const Case *c) {
  const char *error = strstr(got_error(c), "shape '["), *size = strstr(got_error(c), "is invalid for input of size ");
  long rows = 0, elements = 0;
  return error && size && sscanf(error, "shape '[%ld", &rows) == 1 &&
         sscanf(size, "is invalid for input of size %ld", &elements) == 1 && rows > 1 && elements % FEATURES == 0 &&
         elements != rows * FEATURES;
}

// A product of one row with the features of several images, or an output without a dimension for the batch.
static bool flattened_batch(const Case *c) {
  const char *error = strstr(got_error(c), "shapes cannot be multiplied (1x");
  long features = 0;
  if (error)
    sscanf(error, "shapes cannot be multiplied (1x%ld", &features);
  return (features > FEATURES && features % FEATURES == 0) || (got(c, "output") && got(c, "output")->shape.rank == 1);
}

static void suspects(Case *c) {
  const char *error = got_error(c);
  const bool devices = strstr(error, "Expected all tensors to be on the same device") || strstr(error, "weight type");
  suspect_error(c, "found one of them on device: cpu", &MODEL_LEFT);
  suspect_that(c, devices && (strstr(error, "cpu") || strstr(error, "torch.FloatTensor")), &MODEL_LEFT);
  suspect_error(c, "found one of them on device: cuda", &NOT_ON_FIRST);
  suspect_error(c, "the gradient is on cuda:0", &NOT_ON_FIRST); // and the output on another GPU
  suspect_sure(c, asked_for_another_gpu(c), &FIXED_IDS);
  suspect_that(c, strstr(error, "x3600 and 4096x10"), &NO_PADDING);
  suspect_that(c, viewed_as_whole_batch(c), &FIXED_BATCH);
  suspect_that(c, strstr(error, "x15376 and 4096x10"), &OTHER_POOL);
  suspect_that(c, flattened_batch(c), &FLATTENED);
  suspect_error(c, "does not require grad", &NO_GRAPH);
  suspect_sure(c, case_devices(c) == 0 && (strstr(error, "CUDA") || strstr(error, "cuda")), &NOT_ASKED);
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
  if (expect_that(c, got(c, "x.grad") != NULL, &INPUT_CUT, "x.grad: expected a gradient, got NULL"))
    expect_array(c, "x.grad", back.x, 1e-3);
}

static void judge(Case *c) {
  const char *device = case_devices(c) > 0 ? "cuda:0" : "cpu";
  int64_t least = fewest_sharing(c), working = event_trace(c).known ? computing(c) : got_count(c, "working");
  int64_t rows = given(c, "x")->shape.size[0];
  suspects(c);
  if (isnan(got_number(c, "parameters"))) {
    expect_that(c, false, NULL, "simple_cnn: expected a module, got NULL");
    return;
  }
  const char *missing = got_text(c, "missing");
  const bool fewer = *missing && got_count(c, "parameters") < 4;
  suspect_that(c, fewer && strstr(missing, "bias"), &NO_BIAS); // the driver looks for the weights first
  suspect_that(c, fewer, &UNREGISTERED);
  if (!expect_that(c, !*missing, NULL, "the network has no parameter %.40s", missing) ||
      !expect_that(c, !*got_text(c, "of another size"), &OTHER_LAYER, "%.40s: wrong shape",
                   got_text(c, "of another size")) ||
      !expect_exactly(c, "parameters of the network", got_count(c, "parameters"), 4, NULL))
    return;
  Pooled p = pooled(c, true, false);
  const Array *want = scores(c, p.value);
  if (!expect_array(c, "output", want, 1e-3)) {
    suspect_that(c, has_old_rows(c, want), &STALE);
    suspect_array(c, "output", scores(c, pooled(c, false, false).value), &NO_RELU);
    suspect_array(c, "output", scores(c, pooled(c, true, true).value), &AVERAGE);
    return;
  }
  expect_device(c, "output", device, &NOT_ON_FIRST);
  expect_at_least(c, "GPUs that computed a part", working, least, working > 1 ? &IDLE : &NOT_SPLIT);
  expect_at_least(c, "kernels on the GPU with the fewest, in percent of the GPU with the most", smallest_share(c), 20,
                  &NOT_WORKING);
  if (case_devices(c) > 0)
    expect_at_most(c, "images on one GPU", got_count(c, "most rows"), (rows + case_devices(c) - 1) / case_devices(c),
                   &UNEVEN);
  judge_gradients(c, &p, device);
}

EXERCISE = {
    .id = "06_1_data_parallel",
    .title = "Data parallelism",
    .after_pass = "Data parallelism splits the batch, not the model: each replica computes a part of the rows.",
    .kind = "write",
    .chapter = 6,
    .level = LEVEL_MEDIUM,
    .minutes = 25,
    .essential = true,
    .lesson = CNN,
    .stars = {{"balanced: at most N / GPUs images on a GPU, rounded up", {&UNEVEN}}},
    .hints = {"The network is a struct with FyModule as its first member. Create each layer, and register it with "
              "fy_register_module.",
              "In the forward function, get the number of rows from fy_size_at(x, 0). Each replica gets only a part of "
              "the batch.",
              "fy_nn_data_parallel(cnn, NULL, 0) splits the batch across all GPUs. Return its result if there are at "
              "least two GPUs.",
              "If there is a GPU, move the parameters to the first one: fy_module_to(model, fy_device(\"cuda:0\"))."},
    .functions = {"simple_cnn", "on_all_devices"},
    .tests = {{"one GPU", ask_odd, .judge = judge, .at_most = 1},
              {"a batch", ask_batch, .judge = judge},
              {"an odd batch", ask_odd, .judge = judge},
              {"two GPUs", ask_batch, .judge = judge, .devices = 2},
              {"two GPUs, cuda:1 is current", ask_current, .judge = judge, .devices = 2},
              {"three GPUs, 5 images", ask_two_left, .judge = judge, .devices = 3, .at_most = 3},
              {"four GPUs, 7 images", ask_three_left, .judge = judge, .devices = 4},
              {"eight GPUs", ask_eight, .judge = judge, .devices = 8},
              {"fewer images than GPUs", ask_few, .judge = judge, .devices = 4},
              {"one image", ask_one, .judge = judge},
              {"no GPU", ask_odd, .judge = judge, .no_cuda = true}},
};
