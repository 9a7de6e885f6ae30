// SPDX-License-Identifier: MIT
// A network with convolutions, BatchNorm and linear layers, trained under autocast: the losses and the state afterwards are
// PyTorch's (tests/golden/make_golden_scaler.py), as near as the half type lets two orders of adding come.
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
#include "../nn/check.h"
#include "support/golden.h"

static FyDevice device;

static FyTensor *named(const char *type, const char *part, const char *name) {
  char key[96];
  snprintf(key, sizeof key, "%s.%s%s", type, part, name);
  return golden_tensor("train_autocast", key);
}

static FyModule *network(const char *type) {
  FyModule *model =
      fy_nn_sequential(fy_nn_conv2d(2, 4, 3, .padding = 1), fy_nn_batch_norm2d(4), fy_nn_relu(), fy_nn_max_pool2d(2),
                       fy_nn_conv2d(4, 6, 3, .padding = 1), fy_nn_relu(), fy_nn_max_pool2d(2), fy_nn_flatten(),
                       fy_nn_linear(24, 7), fy_nn_relu(), fy_nn_linear(7, 5));
  FyTensorList *parameters = fy_parameters(model);
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      fy_copy_(parameters->items[i], named(type, "before.", parameters->names[i]));
  }
  return fy_module_to(model, device);
}

static void assert_near(FyTensor *t, FyTensor *expected, double tolerance, const char *what) {
  assert_int_equal(fy_dtype_of(t), fy_dtype_of(expected));
  FyTensor *difference = fy_abs(fy_sub(fy_cpu(fy_detach(t)), expected));
  if (!(fy_item(fy_max(difference)) <= tolerance))
    fail_msg("%s: differs by %g", what, fy_item(fy_max(difference)));
}

static void train(const char *type, FyDType dtype, double tolerance) {
  FyModule *model = network(type);
  FyOptimizer *sgd = fy_sgd(fy_parameters(model), .lr = 0.1, .momentum = 0.9);
  FyGradScaler *scaler = fy_grad_scaler(device.type, .init_scale = 1024, .enabled = dtype == FY_FLOAT16);
  FyTensor *x = fy_to(named(type, "x", ""), device), *y = fy_to(named(type, "y", ""), device);
  FyTensor *losses = named(type, "losses", "");
  for (int64_t step = 0; step < fy_numel(losses); step++) {
    FyTensor *loss = NULL;
    fy_zero_grad(sgd);
    fy_autocast(device.type, .dtype = dtype) {
      loss = fy_cross_entropy(fy_forward(model, x), y);
    }
    fy_backward(fy_scaler_scale(scaler, loss));
    assert_true(fy_scaler_step(scaler, sgd));
    fy_scaler_update(scaler);
    assert_near(loss, fy_select(losses, 0, step), tolerance, "loss");
  }
  FyTensorList *state = fy_state_dict(model);
  for (int i = 0; i < state->count; i++)
    assert_near(state->items[i], named(type, "after.", state->names[i]), 2 * tolerance, state->names[i]);
}

static void in_bfloat16(void **state) {
  (void)state;
  train("bfloat16", FY_BFLOAT16, 0.03);
}

static void in_float16_with_a_scaler(void **state) {
  (void)state;
  train("float16", FY_FLOAT16, 0.004);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(in_bfloat16), cmocka_unit_test(in_float16_with_a_scaler)};
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  if (device.type == FY_CUDA)
    device = fy_cuda_device(fy_cuda_current_device());
  return cmocka_run_group_tests(tests, NULL, NULL);
}
