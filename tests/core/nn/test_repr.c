// SPDX-License-Identifier: MIT
// print(module) gives PyTorch's text. The expected texts are those of the Python named in each test.
// run check: FERRY_CUDA=off
#include "check.h"

static void assert_repr(FyModule *module, const char *expected) {
  char *text = fy_module_repr(module);
  assert_string_equal(text, expected);
  free(text);
}

static void test_layers(void **state) {
  (void)state;
  assert_repr(fy_nn_linear(10, 5), "Linear(in_features=10, out_features=5, bias=True)");
  assert_repr(fy_nn_linear(10, 5, .no_bias = true), "Linear(in_features=10, out_features=5, bias=False)");
  assert_repr(fy_nn_conv2d(3, 16, 3, .padding = 1), "Conv2d(3, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))");
  assert_repr(fy_nn_conv2d(4, 8, 5, .stride = 2, .dilation = 2, .groups = 2, .no_bias = true),
              "Conv2d(4, 8, kernel_size=(5, 5), stride=(2, 2), dilation=(2, 2), groups=2, bias=False)");
  assert_repr(fy_nn_batch_norm2d(16),
              "BatchNorm2d(16, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)");
  assert_repr(fy_nn_batch_norm1d(3, .eps = 1e-3, .momentum = 0.01, .no_affine = true),
              "BatchNorm1d(3, eps=0.001, momentum=0.01, affine=False, track_running_stats=True)");
  assert_repr(fy_nn_batch_norm1d(3, .momentum = 0, .eps = 0),
              "BatchNorm1d(3, eps=0.0, momentum=0.0, affine=True, track_running_stats=True)");
  assert_repr(fy_nn_layer_norm(fy_shape(4)), "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)");
  assert_repr(fy_nn_layer_norm(fy_shape(4), .no_bias = true),
              "LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=False)");
  assert_repr(fy_nn_layer_norm(fy_shape(3, 4), .eps = 1e-3, .no_affine = true),
              "LayerNorm((3, 4), eps=0.001, elementwise_affine=False, bias=False)");
  assert_repr(fy_nn_max_pool2d(2), "MaxPool2d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)");
  assert_repr(fy_nn_max_pool2d(3, .stride = 2, .padding = 1),
              "MaxPool2d(kernel_size=3, stride=2, padding=1, dilation=1, ceil_mode=False)");
  assert_repr(fy_nn_dropout(0.5), "Dropout(p=0.5, inplace=False)");
  assert_repr(fy_nn_dropout(0.1), "Dropout(p=0.1, inplace=False)");
  assert_repr(fy_nn_dropout(1), "Dropout(p=1.0, inplace=False)");
  assert_repr(fy_nn_flatten(), "Flatten(start_dim=1, end_dim=-1)");
  assert_repr(fy_nn_gelu(), "GELU(approximate='none')");
  assert_repr(fy_nn_relu(), "ReLU()");
  assert_repr(fy_nn_relu_inplace(), "ReLU(inplace=True)");
  assert_repr(fy_nn_cross_entropy_loss(), "CrossEntropyLoss()");
  assert_repr(fy_nn_mse_loss(), "MSELoss()");
}

typedef struct Net {
  FyModule base;
  FyModule *features, *loss, *classifier;
} Net;

static FyTensor *net_forward(FyModule *self, FyTensor *x) {
  return fy_forward(((Net *)self)->features, x);
}

static void test_nested(void **state) {
  (void)state;
  Net *net = fy_module_new(Net, net_forward);
  FyModule *empty = (FyModule *)fy_module_new(Net, net_forward);
  assert_repr(empty, "Net()");
  FyModule *inner = fy_nn_sequential(fy_nn_relu());
  fy_register_module(net, features, fy_nn_sequential(fy_nn_conv2d(1, 2, 3), inner));
  fy_register_module(net, loss, fy_nn_mse_loss());
  fy_register_module(net, classifier, fy_nn_linear(2, 1));
  assert_repr((FyModule *)net, "Net(\n"
                               "  (features): Sequential(\n"
                               "    (0): Conv2d(1, 2, kernel_size=(3, 3), stride=(1, 1))\n"
                               "    (1): Sequential(\n"
                               "      (0): ReLU()\n"
                               "    )\n"
                               "  )\n"
                               "  (loss): MSELoss()\n"
                               "  (classifier): Linear(in_features=2, out_features=1, bias=True)\n"
                               ")");
}

static void test_data_parallel(void **state) {
  (void)state;
  assert_repr(fy_nn_data_parallel(fy_nn_linear(2, 1), NULL, 0),
              "DataParallel(\n  (module): Linear(in_features=2, out_features=1, bias=True)\n)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_layers),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_data_parallel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
