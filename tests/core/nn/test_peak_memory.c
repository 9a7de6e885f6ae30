// SPDX-License-Identifier: MIT
// The memory of a training step, against the one that the tensors' sizes ask for.
//
// What has to be alive at a time follows from the layers: while layer i runs forward, its input and output, and what
// earlier layers have saved; while it runs backward, the gradients of its output and input, those of its parameters and of
// all parameters behind it, and what it and the layers before it have saved. PyTorch's peak is the same sum. An activation
// that is kept too long, or a copy too many, is more than what this comparison allows.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads -- cuda
#include "check.h"
#include "op/op.h"

static FyDevice device;

// A layer as far as memory goes. Sizes are numbers of float32.
typedef struct Layer {
  int64_t out, parameters;
  bool saves_input, saves_output;
  int64_t index_bytes; // max_pool2d: where each maximum was
  bool cuts;           // ReLU is part of it: backward makes the gradient before it from the one after it
} Layer;

enum { MAX_LAYERS = 12, SLACK = 64, STEPS = 4 }; // SLACK: losses and their like, less than any activation

// ---- what it should be -----------------------------------------------------------------------------------------------------

// Is layer j's output needed by the backward of layers 0 .. last?
static bool is_saved(const Layer *layers, int n, int j, int last) {
  return (layers[j].saves_output && j <= last) || (j + 1 < n && layers[j + 1].saves_input && j + 1 <= last);
}

static int64_t saved_bytes(const Layer *layers, int n, int last, int before) {
  int64_t bytes = 0;
  for (int j = 0; j < before; j++)
    bytes += is_saved(layers, n, j, last) ? layers[j].out * 4 : 0;
  for (int j = 0; j <= last; j++)
    bytes += layers[j].index_bytes;
  return bytes;
}

static int64_t more(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// All below is beyond parameters, optimizer state, data and targets, which are there before.
static int64_t forward_peak(const Layer *layers, int n) {
  int64_t peak = 0;
  for (int i = 0; i < n; i++)
    peak =
        more(peak, saved_bytes(layers, n, i, i > 1 ? i - 1 : 0) + (i ? layers[i - 1].out * 4 : 0) + layers[i].out * 4);
  return peak;
}

// After the forward pass: what is saved, the logits, which the program has, and their softmax, which cross_entropy has.
static int64_t between(const Layer *layers, int n) {
  return saved_bytes(layers, n, n - 1, n - 1) + layers[n - 1].out * 8;
}

static int64_t backward_peak(const Layer *layers, int n) {
  int64_t logits = layers[n - 1].out * 4, peak = between(layers, n) + logits, gradients = 0;
  for (int i = n - 1; i >= 0; i--) {
    gradients += layers[i].parameters * 4;
    peak = more(peak, saved_bytes(layers, n, i, n - 1) + logits + gradients + layers[i].out * (layers[i].cuts ? 8 : 4) +
                          (i ? layers[i - 1].out * 4 : 0));
  }
  return peak;
}

// ---- what it is --------------------------------------------------------------------------------------------------------------

static size_t seen;

// Called when an op's outputs have been allocated.
static void observe(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  (void)call;
  size_t now = fy_memory_stats(device).requested;
  seen = now > seen ? now : seen;
}

static FyOpHooks observe_hooks = {.kernel = observe};

typedef struct Training {
  FyModule *model;
  FyOptimizer *optimizer;
  FyTensor *x, *y;
} Training;

typedef struct Seen {
  int64_t forward, between, backward;
} Seen;

static int64_t take_seen(void) {
  size_t result = seen;
  seen = 0;
  return (int64_t)result;
}

static Seen step(const Training *t) {
  Seen result = {0};
  fy_op_hooks_add(&observe_hooks);
  seen = 0;
  fy_scope {
    FyTensor *logits = fy_forward(t->model, t->x);
    result.forward = take_seen();
    FyTensor *loss = fy_cross_entropy(logits, t->y);
    result.between = (int64_t)fy_memory_stats(device).requested;
    seen = 0;
    fy_backward(loss);
    fy_step(t->optimizer);
    result.backward = take_seen();
  }
  fy_op_hooks_remove(&observe_hooks);
  return result;
}

static int64_t parameter_bytes(FyModule *model) {
  int64_t bytes = 0;
  fy_scope {
    FyTensorList *list = fy_parameters(model);
    for (int i = 0; i < list->count; i++)
      bytes += (int64_t)fy_nbytes(list->items[i]);
  }
  return bytes;
}

// `states`: how many tensors of the parameters' size the optimizer keeps. `workspace`: bytes that kernels may take for
// themselves while they run; these are in the allocator's peak alone.
static void compare(const char *name, const char *what, int64_t got, int64_t want) {
  print_message("%s, %s: %ld bytes, expected %ld\n", name, what, (long)got, (long)want);
  if (got > want + SLACK || got < want - SLACK)
    fail_msg("%s, %s: the tensors have %ld bytes, expected %ld", name, what, (long)got, (long)want);
}

static void check(const char *name, const Training *t, const Layer *layers, int n, int states, size_t workspace) {
  int64_t parameters = 0, want = backward_peak(layers, n);
  for (int i = 0; i < n; i++)
    parameters += layers[i].parameters * 4;
  assert_int_equal(parameter_bytes(t->model), parameters); // the table above is of this model
  int64_t before_state = (int64_t)fy_memory_stats(device).requested;
  step(t); // makes the optimizer's state
  fy_zero_grad(t->optimizer);
  FyMemoryStats base = fy_memory_stats(device);
  compare(name, "optimizer state", (int64_t)base.requested - before_state, states * parameters);
  for (int i = 0; i < STEPS; i++) {
    fy_reset_peak_memory_stats(device);
    Seen now = step(t);
    int64_t there = (int64_t)base.requested;
    compare(name, "forward", now.forward - there, forward_peak(layers, n));
    compare(name, "between", now.between - there, between(layers, n));
    compare(name, "backward", now.backward - there, want);
    // Blocks are rounded up, to 512 bytes or by less than an eighth, and one of up to two classes more may be taken.
    int64_t peak = (int64_t)fy_max_memory_allocated(device) - (int64_t)base.allocated;
    print_message("%s, the allocator's peak: %ld bytes\n", name, (long)peak);
    assert_in_range(peak, want, want + want / 2 + 64 * 512 + (int64_t)workspace);
    assert_int_equal(fy_memory_stats(device).requested - base.requested, parameters); // the gradients, nothing else
    fy_zero_grad(t->optimizer);
    assert_int_equal(fy_memory_stats(device).requested, base.requested);
    assert_int_equal(fy_memory_stats(device).active_blocks, base.active_blocks);
    assert_int_equal(fy_memory_allocated(device), base.allocated);
  }
}

// ---- the models --------------------------------------------------------------------------------------------------------------

static Training training(FyModule *model, FySize input, bool adam) {
  Training t = {.model = fy_module_to(model, device)};
  t.optimizer = adam ? fy_adam(fy_parameters(model)) : fy_sgd(fy_parameters(model), .lr = 0.01, .momentum = 0.9);
  t.x = fy_randn(input, .device = device);
  t.y = fy_randint(0, 10, fy_shape(input.dim[0]), .device = device);
  return t;
}

#define LINEAR(batch, in, outputs)                                                                                     \
  { .out = (int64_t)(batch) * (outputs), .parameters = ((in) + 1) * (outputs), .saves_input = true }
#define LINEAR_RELU(batch, in, outputs)                                                                                \
  {                                                                                                                    \
    .out = (int64_t)(batch) * (outputs), .parameters = ((in) + 1) * (outputs), .saves_input = true,                    \
    .saves_output = true, .cuts = true                                                                                 \
  }
#define RELU(size)                                                                                                     \
  { .out = (size), .saves_output = true }

static void a_small_mlp(void **state) {
  (void)state;
  fy_scope {
    const Layer layers[] = {LINEAR_RELU(64, 100, 50), LINEAR(64, 50, 10)};
    Training t =
        training(fy_nn_sequential(fy_nn_linear(100, 50), fy_nn_relu(), fy_nn_linear(50, 10)), fy_shape(64, 100), false);
    check("100-50-10", &t, layers, 2, 1, 1 << 16);
  }
}

static void an_mlp_for_images(void **state) {
  (void)state;
  fy_scope {
    const Layer layers[] = {LINEAR_RELU(64, 784, 256), LINEAR_RELU(64, 256, 128), LINEAR(64, 128, 10)};
    Training t = training(fy_nn_sequential(fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 128), fy_nn_relu(),
                                           fy_nn_linear(128, 10)),
                          fy_shape(64, 784), true);
    check("784-256-128-10", &t, layers, 3, 2, 1 << 18);
  }
}

enum { N = 16, A = N * 32 * 28 * 28, B = N * 32 * 14 * 14, C = N * 64 * 14 * 14, D = N * 64 * 7 * 7 };

// Conv2d, ReLU and MaxPool2d: one op within a Sequential, three where each is in a Sequential of its own.
static FyModule *conv_block(int in, int out, bool apart) {
  FyModule *conv = fy_nn_conv2d(in, out, 3, .padding = 1), *relu = fy_nn_relu(), *pool = fy_nn_max_pool2d(2);
  return apart ? fy_nn_sequential(fy_nn_sequential(conv), fy_nn_sequential(relu), fy_nn_sequential(pool))
               : fy_nn_sequential(conv, relu, pool);
}

static Training cnn(bool apart) {
  FyModule *model =
      fy_nn_sequential(conv_block(1, 32, apart), conv_block(32, 64, apart), fy_nn_flatten(),
                       fy_nn_linear(64 * 7 * 7, 256), fy_nn_relu(), fy_nn_dropout(0.5), fy_nn_linear(256, 10));
  return training(model, fy_shape(N, 1, 28, 28), true);
}

#define CLASSIFIER                                                                                                     \
  LINEAR_RELU(N, 64 * 7 * 7, 256), {.out = N * 256}, /* dropout: its mask is drawn again by backward */                \
      LINEAR(N, 256, 10)

static void a_cnn_of_single_ops(void **state) {
  (void)state;
  fy_scope {
    const Layer layers[] = {
        {.out = A, .parameters = 32 * 9 + 32, .saves_input = true},
        RELU(A),
        {.out = B, .index_bytes = B},
        {.out = C, .parameters = 64 * 32 * 9 + 64, .saves_input = true},
        RELU(C),
        {.out = D, .index_bytes = D},
        CLASSIFIER,
    };
    Training t = cnn(true);
    check("CNN of single ops", &t, layers, 9, 2, 8 << 20);
  }
}

// Neither the convolutions' outputs nor ReLU's exist.
static void a_cnn(void **state) {
  (void)state;
  fy_scope {
    const Layer layers[] = {
        {.out = B, .parameters = 32 * 9 + 32, .saves_input = true, .index_bytes = B},
        {.out = D, .parameters = 64 * 32 * 9 + 64, .saves_input = true, .index_bytes = D},
        CLASSIFIER,
    };
    Training t = cnn(false);
    check("CNN", &t, layers, 5, 2, 8 << 20);
  }
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA && device.index < 0)
    device = fy_cuda_device(0);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_mlp),
      cmocka_unit_test(an_mlp_for_images),
      cmocka_unit_test(a_cnn_of_single_ops),
      cmocka_unit_test(a_cnn),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
