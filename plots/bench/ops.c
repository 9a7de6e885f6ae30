// SPDX-License-Identifier: MIT
// Benchmarks of single operations. `bytes` is what must move at least: each input read once, each output written once.
// `flops` counts additions, multiplications, divisions, comparisons and calls of exp or tanh alike.
#include "bench.h"

#include <stdio.h>

static FyTensor *random_on(const Run *run, FySize size) {
  if (run->dtype == FY_FLOAT32 || run->dtype == FY_FLOAT64) {
    return fy_randn_with((FyFactory){.size = size, .dtype = run->dtype, .device = run->device});
  }
  return fy_to_dtype(fy_randn_with((FyFactory){.size = size, .device = run->device}), run->dtype);
}

static double element_bytes(const Run *run) {
  return (double)fy_dtype_size(run->dtype);
}

// ---- matrix products and convolutions -----------------------------------------------------------------------------------

// (n, n) @ (n, n)
void setup_matmul(Run *run) {
  double n = (double)run->size;
  run->a = random_on(run, fy_shape(run->size, run->size));
  run->b = random_on(run, fy_shape(run->size, run->size));
  run->flops = 2 * n * n * n;
  run->bytes = 3 * n * n * element_bytes(run);
}

void body_matmul(Run *run) {
  fy_matmul(run->a, run->b);
}

static const struct {
  int64_t in, out, side;
} conv_layers[] = {
    [CONV_1_32_28] = {1, 32, 28},   [CONV_32_64_14] = {32, 64, 14}, [CONV_3_32_32] = {3, 32, 32},
    [CONV_32_64_16] = {32, 64, 16}, [CONV_64_64_32] = {64, 64, 32},
};

// x (N, in, side, side), weight (out, in, 3, 3), padding 1: forward, and the gradients of both.
void setup_conv(Run *run) {
  int64_t in = conv_layers[run->bench->variant].in, out = conv_layers[run->bench->variant].out;
  int64_t side = conv_layers[run->bench->variant].side, n = run->size;
  run->a = fy_set_requires_grad(random_on(run, fy_shape(n, in, side, side)), true);
  run->b = fy_set_requires_grad(random_on(run, fy_shape(out, in, 3, 3)), true);
  run->grad = random_on(run, fy_shape(n, out, side, side));
  double pixels = (double)(n * side * side);
  run->flops = 3 * 2 * pixels * (double)(in * out * 9);
  // Forward reads x and writes y; backward reads y's gradient and x, and writes x's gradient. Weights are small.
  run->bytes = pixels * (double)(3 * in + 2 * out) * element_bytes(run);
}

void setup_benchmark_conv(Run *run) {
  setup_conv(run);
  fy_backends_set_benchmark(true);
}

void finish_benchmark(Run *run) {
  (void)run;
  fy_backends_set_benchmark(false);
}

void body_conv(Run *run) {
  fy_set_grad(run->a, NULL);
  fy_set_grad(run->b, NULL);
  fy_backward(fy_conv2d(run->a, run->b, NULL, .padding = 1), .gradient = run->grad);
}

// relu and 2x2 max pooling of (N, 32, 28, 28), forward and backward.
void setup_pool(Run *run) {
  run->a = fy_set_requires_grad(random_on(run, fy_shape(run->size, 32, 28, 28)), true);
  run->grad = random_on(run, fy_shape(run->size, 32, 14, 14));
  double elements = (double)(run->size * 32 * 28 * 28);
  run->bytes = 2.5 * elements * element_bytes(run); // x and its gradient, and a quarter of each for the pooled ones
}

void body_pool(Run *run) {
  fy_set_grad(run->a, NULL);
  fy_backward(fy_max_pool2d(fy_relu(run->a), 2), .gradient = run->grad);
}

// ---- elementwise --------------------------------------------------------------------------------------------------------

// Arrays of `size` elements.
void setup_pointwise(Run *run) {
  bool two = run->bench->variant <= POINTWISE_MUL || run->bench->variant == POINTWISE_ADD_;
  run->a = random_on(run, fy_shape(run->size));
  run->b = two ? random_on(run, fy_shape(run->size)) : NULL;
  run->flops = (double)run->size;
  run->bytes = (two ? 3 : 2) * (double)run->size * element_bytes(run);
}

void body_pointwise(Run *run) {
  switch (run->bench->variant) {
  case POINTWISE_ADD:
    fy_add(run->a, run->b);
    break;
  case POINTWISE_MUL:
    fy_mul(run->a, run->b);
    break;
  case POINTWISE_RELU:
    fy_relu(run->a);
    break;
  case POINTWISE_TANH:
    fy_tanh(run->a);
    break;
  case POINTWISE_EXP:
    fy_exp(run->a);
    break;
  case POINTWISE_GELU:
    fy_gelu(run->a);
    break;
  case POINTWISE_ADD_:
    fy_add_(run->a, run->b);
    break;
  }
}

// ---- reductions ---------------------------------------------------------------------------------------------------------

// All of `size` elements, or a matrix of size / 1024 rows of 1024.
void setup_reduction(Run *run) {
  bool matrix = run->bench->variant >= REDUCE_SUM_ROWS;
  int64_t rows = run->size >= 1024 ? run->size / 1024 : 1, columns = run->size >= 1024 ? 1024 : run->size;
  run->a = random_on(run, matrix ? fy_shape(rows, columns) : fy_shape(run->size));
  run->flops = (double)fy_numel(run->a);
  run->bytes = (double)fy_nbytes(run->a);
}

void body_reduction(Run *run) {
  switch (run->bench->variant) {
  case REDUCE_SUM:
    fy_sum(run->a);
    break;
  case REDUCE_MAX:
    fy_max(run->a);
    break;
  case REDUCE_SUM_ROWS:
    fy_sum_dim(run->a, 1, false);
    break;
  case REDUCE_SUM_COLUMNS:
    fy_sum_dim(run->a, 0, false);
    break;
  case REDUCE_ARGMAX_ROWS:
    fy_argmax_dim(run->a, 1, false);
    break;
  }
}

// ---- on a square matrix ------------------------------------------------------------------------------------------------

void setup_square(Run *run) {
  double elements = (double)(run->size * run->size);
  run->a = random_on(run, fy_shape(run->size, run->size));
  run->b = run->bench->variant == SQUARE_ADD ? random_on(run, fy_shape(run->size, run->size)) : NULL;
  run->flops = run->bench->variant == SQUARE_SOFTMAX ? 4 * elements : elements; // subtract, exp, add, divide
  run->bytes = (run->b ? 3 : 2) * elements * element_bytes(run);
  if (run->bench->variant == SQUARE_TRANSPOSED) {
    run->a = fy_t(run->a);
    run->flops = 0;
  }
}

void body_square(Run *run) {
  switch (run->bench->variant) {
  case SQUARE_SOFTMAX:
    fy_softmax(run->a, 1);
    break;
  case SQUARE_TRANSPOSED:
    fy_contiguous(run->a);
    break;
  case SQUARE_TANH:
    fy_tanh(run->a);
    break;
  case SQUARE_ADD:
    fy_add(run->a, run->b);
    break;
  }
}

// ---- normalization and attention, with gradients --------------------------------------------------------------------------

static FyTensor *leaf_on(Run *run, FySize shape) {
  return fy_set_requires_grad(random_on(run, shape), true);
}

static void backward(Run *run, FyTensor *out) {
  FyTensor *leaves[] = {run->a, run->b, run->c};
  for (int i = 0; i < 3; i++)
    fy_set_grad(leaves[i], NULL);
  fy_backward(out, .gradient = run->grad);
}

// Rows of 768 numbers, as in GPT-2.
void setup_layer_norm(Run *run) {
  const double elements = 768 * (double)run->size;
  run->a = leaf_on(run, fy_shape(run->size, 768));
  run->b = leaf_on(run, fy_shape(768));
  run->c = leaf_on(run, fy_shape(768));
  run->grad = random_on(run, fy_shape(run->size, 768));
  run->bytes = 5 * elements * element_bytes(run); // x to out; x and grad to the gradient of x
}

void body_layer_norm(Run *run) {
  FyTensor *out = fy_layer_norm(run->a, fy_shape(768), run->b, run->c, 1e-5);
  backward(run, out);
}

// (8, 12, n, 64): 8 sequences, and the heads of GPT-2; causal.
void setup_attention(Run *run) {
  const FySize shape = fy_shape(8, 12, run->size, 64);
  run->a = leaf_on(run, shape);
  run->b = leaf_on(run, shape);
  run->c = leaf_on(run, shape);
  run->grad = random_on(run, shape);
  run->flops = 2.0 * (2 + 5) * 8 * 12 * (double)run->size * (double)run->size * 64 / 2; // seven products, half of each
}

void body_attention(Run *run) {
  FyTensor *out = fy_scaled_dot_product_attention(run->a, run->b, run->c, .is_causal = true);
  backward(run, out);
}

// ---- random numbers -----------------------------------------------------------------------------------------------------

void setup_random(Run *run) {
  double elements = (double)run->size;
  if (run->bench->variant == RANDOM_DROPOUT) {
    run->a = random_on(run, fy_shape(run->size));
  }
  run->bytes = (run->a ? 2 : 1) * elements * element_bytes(run);
}

void body_random(Run *run) {
  switch (run->bench->variant) {
  case RANDOM_RANDN:
    fy_randn(fy_shape(run->size), .device = run->device);
    break;
  case RANDOM_RAND:
    fy_rand(fy_shape(run->size), .device = run->device);
    break;
  case RANDOM_DROPOUT:
    fy_dropout(run->a, 0.5, true);
    break;
  }
}

// ---- optimizer and loss -------------------------------------------------------------------------------------------------

// `size` parameters in `variant` tensors, with gradients.
void setup_adam(Run *run) {
  int tensors = run->bench->variant;
  int64_t each = run->size >= tensors ? run->size / tensors : 1;
  FyTensorList *list = fy_tensor_list_new();
  for (int i = 0; i < tensors; i++) {
    FyTensor *parameter = fy_set_requires_grad(random_on(run, fy_shape(each)), true);
    fy_set_grad(parameter, random_on(run, fy_shape(each)));
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    fy_list_add(list, name, parameter);
  }
  run->optimizer = fy_adam(list, .lr = 1e-3);
  double elements = (double)(each * tensors);
  run->flops = 14 * elements;
  run->bytes = 7 * elements * element_bytes(run); // reads p, g, m, v; writes p, m, v
}

void body_adam(Run *run) {
  fy_step(run->optimizer);
}

// (size, 1000) logits: forward and backward.
void setup_cross_entropy(Run *run) {
  run->a = fy_set_requires_grad(random_on(run, fy_shape(run->size, 1000)), true);
  run->b = fy_randint(0, 1000, fy_shape(run->size), .device = run->device);
  double elements = (double)(run->size * 1000);
  run->flops = 8 * elements;
  run->bytes =
      3 * elements * element_bytes(run); // forward reads the logits; backward reads them again, writes the gradient
}

void body_cross_entropy(Run *run) {
  fy_set_grad(run->a, NULL);
  fy_backward(fy_cross_entropy(run->a, run->b));
}
