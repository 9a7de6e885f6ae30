// Lesson 31, docs/31_own_op.md: a custom op with a backward pass, made of CUDA kernels, in a model that trains.
#include "common.h"
#include "own_kernels.h"
#include <math.h>

// ---- the op: GELU(x + bias) --------------------------------------------------------------------------------------------------

// [forward]
static BiasGelu shape_of(FyTensor *x) {
  FyStream *stream = fy_current_stream(fy_device_of(x));
  return (BiasGelu){.rows = (int)fy_size_at(x, 0),
                    .columns = (int)fy_size_at(x, 1),
                    .is_double = fy_dtype_of(x) == FY_FLOAT64,
                    .stream = fy_stream_raw(stream)};
}

static void check_launch(int error) {
  if (error)
    fy_raise(FY_RUNTIME_ERROR, "bias_gelu could not be launched: CUDA error %d", error);
}

static void forward(FyFunctionCall *call, FyTensor *const *in, FyTensor **out) {
  FyTensor *x = fy_contiguous(in[0]), *bias = fy_contiguous(in[1]);
  BiasGelu shape = shape_of(x);
  out[0] = fy_empty_like(x);
  check_launch(bias_gelu_forward(&shape, fy_data_ptr(out[0]), fy_data_ptr(x), fy_data_ptr(bias)));
  fy_save_for_backward(call, x, bias);
}
// [end]

// [backward]
static void backward(FyFunctionCall *call, FyTensor *const *grad_out, FyTensor **grad_in) {
  FyTensor *x = fy_saved_tensor(call, 0), *bias = fy_saved_tensor(call, 1);
  FyTensor *dy = fy_contiguous(grad_out[0]), *dx = fy_empty_like(x);
  BiasGelu shape = shape_of(x);
  check_launch(bias_gelu_backward(&shape, fy_data_ptr(dx), fy_data_ptr(dy), fy_data_ptr(x), fy_data_ptr(bias)));
  grad_in[0] = dx;
  if (!fy_needs_input_grad(call, 1))
    return;
  grad_in[1] = fy_empty_like(bias);
  check_launch(bias_gelu_columns(&shape, fy_data_ptr(grad_in[1]), fy_data_ptr(dx)));
}
// [end]

// The same op made of the library's ops, for devices for which the kernels are not built.
static void forward_by_ops(FyFunctionCall *call, FyTensor *const *in, FyTensor **out) {
  out[0] = fy_gelu(fy_add(in[0], in[1]));
  fy_save_for_backward(call, in[0], in[1]);
}

static void backward_by_ops(FyFunctionCall *call, FyTensor *const *grad_out, FyTensor **grad_in) {
  fy_enable_grad {
    FyTensor *a = fy_set_requires_grad(fy_detach(fy_add(fy_saved_tensor(call, 0), fy_saved_tensor(call, 1))), true);
    FyTensor *grads[1];
    fy_autograd_grad(fy_gelu(a), fy_list(a), grad_out[0], false, grads);
    grad_in[0] = grads[0];
    grad_in[1] = fy_sum_dims(grads[0], fy_shape(0), false);
  }
}

static FyFunction *bias_gelu_function(bool kernels) {
  if (!kernels)
    return fy_function_new("BiasGelu", .forward = forward_by_ops, .backward = backward_by_ops);
  // [new]
  FyFunction *function = fy_function_new("BiasGelu", .forward = forward, .backward = backward);
  // [end]
  return function;
}

// ---- checks --------------------------------------------------------------------------------------------------------------------

static double difference(FyTensor *a, FyTensor *b) {
  return fy_item(fy_max(fy_abs(fy_sub(a, b))));
}

static void compare(FyFunction *function, FyDevice device) {
  heading("Comparison with the library's ops");
  FyTensor *x = fy_set_requires_grad(fy_randn(fy_shape(37, 70), .device = device), true);
  FyTensor *bias = fy_set_requires_grad(fy_randn(fy_shape(70), .device = device), true);
  FyTensor *weight = fy_randn(fy_shape(37, 70), .device = device), *own[2], *ops[2];
  // [apply]
  FyTensor *y = fy_function_apply(function, x, bias);
  // [end]
  FyTensor *want = fy_gelu(fy_add(x, bias));
  printf("grad_fn=<%s>\n", fy_grad_fn_name(y));
  printf("result:          %s\n", truth(difference(y, want) < 1e-5));
  fy_autograd_grad(y, fy_list(x, bias), weight, false, own);
  fy_autograd_grad(want, fy_list(x, bias), weight, false, ops);
  printf("gradient of x:   %s\n", truth(difference(own[0], ops[0]) < 1e-5));
  printf("gradient of b:   %s\n", truth(difference(own[1], ops[1]) < 1e-4));
}

// [gradcheck]
static FyTensor *applied(FyTensor *const *inputs, void *function) {
  return fy_function_apply((FyFunction *)function, inputs[0], inputs[1]);
}

static void check_gradients(FyFunction *function, FyDevice device) {
  FyTensor *x = fy_randn(fy_shape(3, 5), .dtype = FY_FLOAT64, .device = device);
  FyTensor *bias = fy_randn(fy_shape(5), .dtype = FY_FLOAT64, .device = device);
  char message[300] = "";
  fy_set_requires_grad(x, true), fy_set_requires_grad(bias, true);
  bool right = fy_gradcheck(applied, function, fy_list(x, bias), message, sizeof message);
  printf("gradcheck:       %s\n", truth(right));
  if (!right)
    printf("%s\n", message);
}
// [end]

// ---- a model with the op ---------------------------------------------------------------------------------------------------------

// [model]
typedef struct Net {
  FyModule base;
  FyTensor *weight, *bias; // of the hidden layer
  FyModule *last;
  FyFunction *function; // the custom op, or NULL for the library's ops
} Net;

static FyTensor *net_forward(FyModule *self, FyTensor *x) {
  Net *net = (Net *)self;
  FyTensor *h = fy_matmul(x, net->weight);
  h = net->function ? fy_function_apply(net->function, h, net->bias) : fy_gelu(fy_add(h, net->bias));
  return fy_forward(net->last, h);
}
// [end]

static Net *net_new(FyFunction *function, int hidden, FyDevice device) {
  fy_manual_seed(5);
  Net *net = fy_module_new(Net, net_forward);
  fy_register_parameter(net, weight, fy_randn(fy_shape(2, hidden)));
  fy_register_parameter(net, bias, fy_zeros(fy_shape(hidden)));
  fy_register_module(net, last, fy_nn_linear(hidden, 2));
  net->function = function;
  fy_module_to(net, device);
  return net;
}

// Random points in the plane. Those within distance 1 of the origin are class 1, the others class 0.
static void points(int count, FyDevice device, FyTensor **x, FyTensor **y) {
  fy_manual_seed(11);
  FyTensor *at = fy_randn(fy_shape(count, 2));
  int64_t *inside = fy_data_ptr(*y = fy_zeros(fy_shape(count), .dtype = FY_INT64));
  const float *p = fy_data_ptr(at);
  for (int i = 0; i < count; i++)
    inside[i] = p[2 * i] * p[2 * i] + p[2 * i + 1] * p[2 * i + 1] < 1;
  *x = fy_to(at, device);
  *y = fy_to(*y, device);
}

// Trains, and returns the losses of all steps on the host.
static void train(Net *net, FyTensor *x, FyTensor *y, int steps, double *losses) {
  FyOptimizer *optimizer = fy_adam(fy_parameters(net), .lr = 0.02);
  for (int step = 0; step < steps; step++)
    fy_scope {
      FyTensor *loss = fy_cross_entropy(fy_forward(net, x), y);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      losses[step] = fy_item(loss);
    }
}

static void training(FyFunction *function, const Chapter *chapter) {
  enum { MOST = 100 };
  heading("Training a model with the op");
  const int steps = chapter->quick ? 40 : MOST;
  double own[MOST], ops[MOST], largest = 0;
  FyTensor *x, *y;
  points(256, chapter->device, &x, &y);
  train(net_new(function, 24, chapter->device), x, y, steps, own);
  train(net_new(NULL, 24, chapter->device), x, y, steps, ops);
  printf("%-6s %10s %14s\n", "step", "own op", "library's ops");
  for (int step = 0; step < steps; step++) {
    largest = fmax(largest, fabs(own[step] - ops[step]));
    if (step % (steps / 4) == 0 || step == steps - 1)
      printf("%-6d %10.4f %14.4f\n", step, own[step], ops[step]);
  }
  printf("\nthe loss falls:  %s\n", truth(own[steps - 1] < own[0] / 2));
  printf("the same losses: %s\n", truth(largest < 1e-3));
}

int main(int argc, char **argv) {
  Chapter chapter =
      chapter_begin(argc, argv, "A custom op with a backward pass",
                    "GELU of x + bias, forward and backward, made of CUDA kernels, in a model that trains.");
  const bool kernels = chapter.device.type == FY_CUDA && chapter.simulated;
  if (!kernels)
    printf("This program's kernels are built for simulated devices; here the op is made of the library's ops.\n");
  FyFunction *function = bias_gelu_function(kernels);
  compare(function, chapter.device);
  check_gradients(function, chapter.device);
  training(function, &chapter);
  return 0;
}
