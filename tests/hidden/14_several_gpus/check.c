// Exercise 14: a convolutional network on as many GPUs as there are.
#include "exercise.h"
#include <math.h>
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
static const Mistake NO_GRAPH = {"no graph recorded",
                                 "The output has no gradient function: forward ran in fy_no_grad or was detached.",
                                 "docs/06_several_gpus.md#where-the-gradients-are"};

// ---- asking ----------------------------------------------------------------------------------------------------------

// Values with so few digits that the convolution is exact in float32, in whatever order it is summed.
static void ask(Case *c, int64_t batch) {
  const char *device = case_devices(c) > 0 ? "cuda:0" : "cpu";
  give_array(c, "x", draw_array(c, FY_FLOAT32, shape(batch, CHANNELS, SIDE, SIDE), -1, 1), (Give){.device = device});
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
  ask(c, draw_odd(c, 5, 11));
}
static void ask_few(Case *c) {
  ask(c, 3);
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

// ---- judging ---------------------------------------------------------------------------------------------------------

// Pieces have batch / devices rows, rounded up.
static int64_t sharing(const Case *c) {
  int64_t batch = given(c, "x")->shape.size[0], devices = case_devices(c);
  if (devices == 0)
    return 0;
  int64_t piece = (batch + devices - 1) / devices;
  return (batch + piece - 1) / piece;
}

static void suspects(Case *c) {
  suspect_error(c, "found one of them on device: cpu", &MODEL_LEFT);
  suspect_error(c, "Expected all tensors to be on the same device", &MODEL_LEFT);
  suspect_error(c, "weight type", &MODEL_LEFT); // a convolution's own words for it
  suspect_error(c, "found one of them on device: cuda", &NOT_ON_FIRST);
  suspect_error(c, "invalid device ordinal", &FIXED_IDS);
  suspect_error(c, "x3600 and 4096x10", &NO_PADDING);
  suspect_error(c, "is invalid for input of size", &FIXED_BATCH);
  suspect_error(c, "shapes cannot be multiplied", &FLATTENED);
  suspect_error(c, "does not require grad", &NO_GRAPH);
  suspect_that(c, got(c, "output") && got(c, "output")->shape.rank == 1, &FLATTENED);
  suspect_that(c, case_devices(c) == 0 && *got_error(c), &NOT_ASKED);
}

static void judge_gradients(Case *c, const Pooled *p, const char *device) {
  static const char *const names[] = {"conv1.weight.grad", "conv1.bias.grad", "fc.weight.grad", "fc.bias.grad"};
  for (int i = 0; i < 4; i++)
    expect_device(c, names[i], device, NULL);
  expect_array(c, "fc.bias.grad", fc_bias_gradient(c), 1e-4);
  expect_array(c, "fc.weight.grad", fc_weight_gradient(c, p), 1e-4);
  expect_array(c, "conv1.bias.grad", conv_bias_gradient(c, p), 1e-3);
}

static void judge(Case *c) {
  const char *device = case_devices(c) > 0 ? "cuda:0" : "cpu";
  int64_t want = sharing(c), working = got_count(c, "working");
  suspects(c);
  suspect_array(c, "output", scores(c, pooled(c, false, false).value), &NO_RELU);
  suspect_array(c, "output", scores(c, pooled(c, true, true).value), &AVERAGE);
  if (isnan(got_number(c, "parameters"))) {
    expect_that(c, false, NULL, "simple_cnn: the answer returned NULL");
    return;
  }
  if (!expect_exactly(c, "parameters of the network", got_count(c, "parameters"), 4, &UNREGISTERED))
    return;
  Pooled p = pooled(c, true, false);
  if (!expect_array(c, "output", scores(c, p.value), 1e-3))
    return;
  expect_device(c, "output", device, &NOT_ON_FIRST);
  expect_exactly(c, "GPUs that worked on the batch", working, want,
                 working > 1 || working > want ? &FIXED_IDS : &NOT_SHARED);
  judge_gradients(c, &p, device);
}

EXERCISE = {
    .id = "14_several_gpus",
    .title = "One network, all GPUs",
    .kind = "write",
    .chapter = 6,
    .lesson = "docs/06_several_gpus.md#a-convolutional-network",
    .hints = {"The network is a struct with FyModule first; each child is made and registered with fy_register_module.",
              "In forward ask x for its rows, fy_size_at(x, 0): a replica sees fewer of them than the batch has.",
              "fy_nn_data_parallel(cnn, NULL, 0) shares the batch over all GPUs. Its result is the model to call.",
              "Wrapped or not, the parameters have to be on the first GPU: fy_module_to(model, fy_device(\"cuda:0\")), "
              "and only if there is one."},
    .functions = {"simple_cnn", "on_all_devices"},
    .tests = {{"a batch", ask_batch, .judge = judge},
              {"a batch that does not divide", ask_odd, .judge = judge},
              {"two GPUs", ask_batch, .judge = judge, .devices = 2},
              {"four GPUs, an odd batch", ask_odd, .judge = judge, .devices = 4},
              {"fewer rows than GPUs", ask_few, .judge = judge, .devices = 4},
              {"one picture", ask_one, .judge = judge},
              {"without CUDA", ask_odd, .judge = judge, .no_cuda = true}},
};
