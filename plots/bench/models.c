// SPDX-License-Identifier: MIT
// The models of the lessons, and a wider one, their numbers of operations, and weights by a formula.
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

// 002's OptimizedCNN, written as the lesson writes it.
typedef struct OptimizedCNN {
  FyModule base;
  FyModule *conv1, *conv2, *conv3, *pool, *fc1, *fc2, *relu;
} OptimizedCNN;

// (N, 3, 32, 32) -> (N, 10)
static FyTensor *optimized_cnn_forward(FyModule *self, FyTensor *x) {
  OptimizedCNN *cnn = (OptimizedCNN *)self;
  x = fy_forward_each(x, cnn->conv1, cnn->relu, cnn->pool, cnn->conv2, cnn->relu, cnn->pool, cnn->conv3, cnn->relu,
                      cnn->pool);
  x = fy_reshape(x, fy_shape(-1, 128 * 4 * 4));
  return fy_forward_each(x, cnn->fc1, cnn->relu, cnn->fc2);
}

static FyModule *optimized_cnn(void) {
  OptimizedCNN *cnn = fy_module_new(OptimizedCNN, optimized_cnn_forward);
  fy_register_module(cnn, conv1, fy_nn_conv2d(3, 32, 3, .padding = 1));
  fy_register_module(cnn, conv2, fy_nn_conv2d(32, 64, 3, .padding = 1));
  fy_register_module(cnn, conv3, fy_nn_conv2d(64, 128, 3, .padding = 1));
  fy_register_module(cnn, pool, fy_nn_max_pool2d(2));
  fy_register_module(cnn, fc1, fy_nn_linear(128 * 4 * 4, 512));
  fy_register_module(cnn, fc2, fy_nn_linear(512, 10));
  fy_register_module(cnn, relu, fy_nn_relu());
  return &cnn->base;
}

FyModule *model_new(Model model) {
  switch (model) {
  case MLP_SMALL:
    return fy_nn_sequential(fy_nn_linear(100, 50), fy_nn_relu(), fy_nn_linear(50, 10));
  case MLP:
    return fy_nn_sequential(fy_nn_linear(784, 256), fy_nn_relu(), fy_nn_linear(256, 128), fy_nn_relu(),
                            fy_nn_linear(128, 10));
  case MLP_WIDE:
    return fy_nn_sequential(fy_nn_linear(1024, 2048), fy_nn_relu(), fy_nn_linear(2048, 2048), fy_nn_relu(),
                            fy_nn_linear(2048, 10));
  case CNN_001: // (N, 1, 28, 28) -> (N, 10)
    return fy_nn_sequential(fy_nn_conv2d(1, 32, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2),
                            fy_nn_conv2d(32, 64, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2), fy_nn_flatten(),
                            fy_nn_linear(64 * 7 * 7, 256), fy_nn_relu(), fy_nn_dropout(0.5), fy_nn_linear(256, 10));
  default:
    return optimized_cnn();
  }
}

FySize model_input(Model model, int64_t batch) {
  switch (model) {
  case MLP_SMALL:
    return fy_shape(batch, 100);
  case MLP:
    return fy_shape(batch, 784);
  case MLP_WIDE:
    return fy_shape(batch, 1024);
  case CNN_001:
    return fy_shape(batch, 1, 28, 28);
  default:
    return fy_shape(batch, 3, 32, 32);
  }
}

// A layer costs twice its products forward and as much for each of two gradients; the first needs none for its input.
static double layer(double products, bool first) {
  return 2 * products * (first ? 2 : 3);
}

double model_flops(Model model) {
  switch (model) {
  case MLP_SMALL:
    return layer(100 * 50, true) + layer(50 * 10, false);
  case MLP:
    return layer(784 * 256, true) + layer(256 * 128, false) + layer(128 * 10, false);
  case MLP_WIDE:
    return layer(1024 * 2048, true) + layer(2048 * 2048, false) + layer(2048 * 10, false);
  case CNN_001:
    return layer(28 * 28 * 9 * 32, true) + layer(14 * 14 * 9 * 32 * 64, false) + layer(64 * 7 * 7 * 256, false) +
           layer(256 * 10, false);
  default:
    return layer(32 * 32 * 9 * 3 * 32, true) + layer(16 * 16 * 9 * 32 * 64, false) +
           layer(8 * 8 * 9 * 64 * 128, false) + layer(128 * 16 * 512, false) + layer(512 * 10, false);
  }
}

void training_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *y) {
  fy_zero_grad(optimizer);
  fy_backward(fy_cross_entropy(fy_forward(model, x), y));
  fy_step(optimizer);
}

// ---- the same numbers in every framework --------------------------------------------------------------------------------

// Element j is scale * (((7919 j + 104729 salt) mod 10007) / 10007 - 1/2), in float64, rounded to float32.
FyTensor *formula_numbers(FySize size, int64_t salt, double scale) {
  int64_t count = 1;
  for (int i = 0; i < size.ndim; i++) {
    count *= size.dim[i];
  }
  float *values = malloc((size_t)count * sizeof *values);
  fy_check(values, FY_OUT_OF_MEMORY_ERROR, "no memory for %lld numbers", (long long)count);
  for (int64_t j = 0; j < count; j++) {
    values[j] = (float)(scale * ((double)((7919 * j + 104729 * salt) % 10007) / 10007 - 0.5));
  }
  FyTensor *t = fy_tensor(values, size);
  free(values);
  return t;
}

// Uniform in about +-1 / sqrt(inputs) for weights, as layers begin with; biases like those of one input in a hundred.
void model_set_weights(FyModule *model) {
  fy_scope {
    FyTensorList *list = fy_parameters(model);
    for (int i = 0; i < list->count; i++) {
      FyTensor *p = list->items[i];
      FySize size = fy_size(p);
      double inputs = size.ndim > 1 ? (double)(fy_numel(p) / size.dim[0]) : 100;
      fy_no_grad {
        fy_copy_(p, formula_numbers(size, i + 1, 2 / sqrt(inputs)));
      }
    }
  }
}
