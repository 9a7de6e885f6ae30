// SPDX-License-Identifier: MIT
// Sequential runs Conv2d, ReLU and MaxPool2d, or Linear and ReLU, as one op where that is possible: the values and
// gradients are those of the layers.
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 -- cuda
#include "base/threads.h"
#include "check.h"
#include "op/op.h"
#include <math.h>

static FyDevice device;
static int fused;

static void observe(FyOpHooks *hooks, const FyOpCall *call) {
  (void)hooks;
  fused += call->op == &fy_op_conv2d_relu_max_pool2d;
}

static FyOpHooks observe_hooks = {.kernel = observe};

typedef struct Block {
  int n, in, h, w, out, kernel, padding, stride, groups; // the convolution; groups 0 stands for 1
  int window, pool_stride;                               // 0: the window's size
  bool fuses;
} Block;

typedef struct Result {
  FyTensor *y, *grads[3];
} Result;

static Result run(const Block *b, FyTensor *x, bool apart) {
  fy_manual_seed(1);
  FyModule *conv = fy_nn_conv2d(b->in, b->out, b->kernel, .padding = b->padding, .stride = b->stride,
                                .groups = b->groups, .device = device);
  FyModule *relu = fy_nn_relu(), *pool = fy_nn_max_pool2d(b->window, .stride = b->pool_stride);
  FyModule *model = fy_nn_sequential(apart ? fy_nn_sequential(conv) : conv, relu, pool);
  FyTensor *input = fy_set_requires_grad(fy_clone(x), true);
  Result r = {.y = fy_forward(model, input)};
  FyTensor *upstream = fy_add_scalar(fy_rand_like(r.y), -0.5);
  fy_backward(fy_sum(fy_mul(r.y, upstream)));
  FyTensorList *parameters = fy_parameters(model);
  r.grads[0] = fy_grad(input);
  r.grads[1] = fy_grad(parameters->items[0]);
  r.grads[2] = fy_grad(parameters->items[1]);
  return r;
}

static void check_block(const Block *b) {
  fy_scope {
    fy_manual_seed(2);
    FyTensor *x = fy_randn(fy_shape(b->n, b->in, b->h, b->w), .device = device);
    fused = 0;
    fy_op_hooks_add(&observe_hooks);
    Result together = run(b, x, false), apart = run(b, x, true);
    fy_op_hooks_remove(&observe_hooks);
    assert_int_equal(fused, b->fuses);
    assert_true(fy_allclose(together.y, apart.y, 1e-4, 1e-5));
    for (int i = 0; i < 3; i++)
      assert_true(fy_allclose(together.grads[i], apart.grads[i], 1e-3, 2e-4));
  }
}

static void test_what_fuses(void **state) {
  (void)state;
  const Block blocks[] = {
      {.n = 5, .in = 1, .h = 28, .w = 28, .out = 32, .kernel = 3, .padding = 1, .stride = 1, .window = 2},
      {.n = 70, .in = 16, .h = 7, .w = 7, .out = 32, .kernel = 3, .padding = 1, .stride = 1, .window = 2},
      {.n = 37, .in = 3, .h = 17, .w = 15, .out = 10, .kernel = 3, .padding = 1, .stride = 1, .window = 2},
      {.n = 2, .in = 3, .h = 23, .w = 20, .out = 40, .kernel = 5, .padding = 2, .stride = 2, .window = 3},
      {.n = 1, .in = 2, .h = 4, .w = 4, .out = 3, .kernel = 1, .stride = 1, .window = 4},
  };
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
    Block b = blocks[i];
    b.fuses = true;
    check_block(&b);
  }
}

// Between blocks the images have their channels together, which nobody sees.
static void test_blocks_in_a_row(void **state) {
  (void)state;
  const int channels[][4] = {{1, 32, 64, 16}, {3, 5, 7, 2}, {2, 16, 3, 40}, {1, 1, 8, 1}};
  for (size_t k = 0; k < sizeof channels / sizeof *channels; k++)
    fy_scope {
      FyModule *blocks[2] = {NULL, NULL}, *layers[9];
      const int *c = channels[k];
      for (int i = 0; i < 3; i++) {
        layers[3 * i] = fy_nn_conv2d(c[i], c[i + 1], 3, .padding = 1, .device = device);
        layers[3 * i + 1] = fy_nn_relu();
        layers[3 * i + 2] = fy_nn_max_pool2d(2);
      }
      FyModule **l = layers;
      blocks[0] = fy_nn_sequential(l[0], l[1], l[2], l[3], l[4], l[5], l[6], l[7], l[8]);
      blocks[1] = fy_nn_sequential(fy_nn_sequential(l[0]), l[1], l[2], fy_nn_sequential(l[3]), l[4], l[5],
                                   fy_nn_sequential(l[6]), l[7], l[8]);
      FyTensor *x = fy_randn(fy_shape(19, c[0], 21, 17), .device = device), *y[2], *grads[2][7];
      for (int i = 0; i < 2; i++) {
        FyTensor *input = fy_set_requires_grad(fy_clone(x), true);
        y[i] = fy_forward(blocks[i], input);
        fy_backward(fy_sum(fy_mul(y[i], y[i])));
        FyTensorList *parameters = fy_parameters(blocks[i]);
        grads[i][6] = fy_grad(input);
        for (int p = 0; p < 6; p++) {
          grads[i][p] = fy_clone(fy_grad(parameters->items[p]));
          fy_zero_(fy_grad(parameters->items[p]));
        }
      }
      assert_true(fy_is_contiguous(y[0]) && fy_is_contiguous(grads[0][6]));
      assert_true(fy_allclose(y[0], y[1], 1e-4, 1e-5));
      for (int p = 0; p < 7; p++)
        assert_true(fy_allclose(grads[0][p], grads[1][p], 1e-3, 1e-3));
    }
}

static void test_what_does_not(void **state) {
  (void)state;
  check_block(&(Block){.n = 2, .in = 2, .h = 9, .w = 9, .out = 4, .kernel = 3, .stride = 1, .groups = 2, .window = 2});
  check_block(
      &(Block){.n = 2, .in = 2, .h = 9, .w = 9, .out = 4, .kernel = 3, .stride = 1, .window = 3, .pool_stride = 1});
  check_block(&(Block){.n = 2, .in = 2, .h = 20, .w = 20, .out = 2, .kernel = 3, .stride = 1, .window = 16});
}

// Linear and ReLU, with the values and gradients of the two, as matrices and with more dimensions.
static void test_linear_and_relu(void **state) {
  (void)state;
  const FySize sizes[] = {fy_shape(7, 5), fy_shape(2, 3, 5), fy_shape(5), fy_shape(0, 5)};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    fy_scope {
      FyModule *linear = fy_nn_linear(5, 33, .device = device), *relu = fy_nn_relu();
      FyTensorList *parameters = fy_parameters(linear);
      FyTensor *x = fy_randn(sizes[i], .device = device), *y[2], *grads[2][3];
      for (int k = 0; k < 2; k++) {
        FyTensor *input = fy_set_requires_grad(fy_clone(x), true);
        y[k] = k ? fy_relu(fy_forward(linear, input)) : fy_forward_each(input, linear, relu);
        fy_backward(fy_sum(fy_mul(y[k], y[k])));
        grads[k][0] = fy_grad(input);
        for (int p = 0; p < 2; p++) {
          grads[k][1 + p] = fy_clone(fy_grad(parameters->items[p]));
          fy_zero_(fy_grad(parameters->items[p]));
        }
      }
      assert_string_equal(fy_grad_fn_name(y[0]), fy_grad_fn_name(y[1]));
      assert_true(fy_allclose(y[0], y[1], 1e-5, 1e-6));
      for (int p = 0; p < 3; p++)
        assert_true(fy_allclose(grads[0][p], grads[1][p], 1e-4, 1e-5));
    }
}

static void test_the_errors_are_those_of_the_layers(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(3, 4, 3, .device = device), fy_nn_relu(), fy_nn_max_pool2d(2));
  assert_raises(FY_RUNTIME_ERROR,
                "Given groups=1, weight of size [4, 3, 3, 3], expected input[1, 2, 8, 8] to have 3 channels, but got 2 "
                "channels instead",
                fy_forward(model, fy_zeros(fy_shape(1, 2, 8, 8), .device = device)));
  assert_raises(FY_RUNTIME_ERROR,
                "Given input size: (4x1x1). Calculated output size: (4x0x0). Output size is too small",
                fy_forward(model, fy_zeros(fy_shape(1, 3, 3, 3), .device = device)));
  assert_raises(FY_RUNTIME_ERROR,
                device.type == FY_CUDA
                    ? "Input type (torch.cuda.DoubleTensor) and weight type (torch.cuda.FloatTensor) should be the same"
                    : "Input type (torch.DoubleTensor) and weight type (torch.FloatTensor) should be the same",
                fy_forward(model, fy_zeros(fy_shape(1, 3, 8, 8), .device = device, .dtype = FY_FLOAT64)));
}

// A NaN wins its window, as in PyTorch; where all values are negative ReLU's zero is left, and no gradient.
static void test_nan_and_zero(void **state) {
  (void)state;
  FyTensor *x = fy_tensor(((float[]){1, 2, -1, -2, NAN, 3, -3, -4}), fy_shape(1, 1, 2, 4), .device = device);
  FyTensor *weight = fy_ones(fy_shape(1, 1, 1, 1), .device = device, .requires_grad = true);
  FyTensor *bias = fy_zeros(fy_shape(1), .device = device, .requires_grad = true);
  FyTensor *y = fy_conv2d_relu_max_pool2d(x, weight, (FyConv2d){.bias = bias}, (FyPool2d){.kernel_size = 2});
  FyTensor *right = fy_select(fy_flatten(y, 0, -1), 0, 1), *left = fy_select(fy_flatten(y, 0, -1), 0, 0);
  assert_true(isnan(fy_item(left)));
  assert_true(fy_item(right) == 0);
  fy_backward(right);
  assert_true(fy_item(fy_grad(bias)) == 0);
  fy_zero_(fy_grad(bias));
  fy_backward(fy_select(
      fy_flatten(fy_conv2d_relu_max_pool2d(x, weight, (FyConv2d){.bias = bias}, (FyPool2d){.kernel_size = 2}), 0, -1),
      0, 0));
  assert_true(fy_item(fy_grad(bias)) == 1);
}

static void test_any_number_of_threads(void **state) {
  (void)state;
  const Block blocks[] = {
      {.n = 33, .in = 1, .h = 12, .w = 12, .out = 32, .kernel = 3, .padding = 1, .stride = 1, .window = 2},
      {.n = 33, .in = 16, .h = 8, .w = 8, .out = 16, .kernel = 3, .padding = 1, .stride = 1, .window = 2},
  };
  int threads = fy_get_num_threads();
  for (int i = 0; i < 2; i++)
    fy_scope {
      FyTensor *x = fy_randn(fy_shape(blocks[i].n, blocks[i].in, blocks[i].h, blocks[i].w), .device = device);
      fy_set_num_threads(1);
      Result one = run(&blocks[i], x, false);
      fy_set_num_threads(3);
      Result three = run(&blocks[i], x, false);
      assert_true(fy_equal(one.y, three.y));
      for (int k = 0; k < 3; k++)
        assert_true(fy_equal(one.grads[k], three.grads[k]));
    }
  fy_set_num_threads(threads);
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_what_fuses),
      cmocka_unit_test(test_blocks_in_a_row),
      cmocka_unit_test(test_what_does_not),
      cmocka_unit_test(test_linear_and_relu),
      cmocka_unit_test(test_the_errors_are_those_of_the_layers),
      cmocka_unit_test(test_nan_and_zero),
      cmocka_unit_test(test_any_number_of_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
