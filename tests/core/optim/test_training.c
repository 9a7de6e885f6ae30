// SPDX-License-Identifier: MIT
// Two trainings step by step beside PyTorch: the same weights, the same data, ten losses to 1e-5 relative.
//
// run check: FERRY_CUDA=off
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=lazy -- cuda
// run: FERRY_SIM_DEVICES=1 FERRY_SIM_MODE=threads -- cuda
#include "ferry.h"
#include "support/golden.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static FyDevice device;

// The golden file's weights into the module, by their names.
static void load(FyModule *model, const char *file) {
  fy_scope {
    FyTensorList *state = fy_state_dict(model);
    fy_no_grad
      for (int i = 0; i < state->count; i++) {
        if (!strstr(state->names[i], "num_batches_tracked"))
          fy_copy_(state->items[i], golden_tensor(file, state->names[i]));
      }
  }
}

static void train(FyModule *model, FyOptimizer *optimizer, const char *file) {
  FyTensor *data = fy_to(golden_tensor(file, "data"), device), *target = fy_to(golden_tensor(file, "target"), device);
  float expected[10];
  fy_copy_to_host(golden_tensor(file, "losses"), expected);
  for (int step = 0; step < 10; step++) {
    fy_scope {
      FyTensor *loss = fy_cross_entropy(fy_forward(model, data), target);
      fy_zero_grad(optimizer);
      fy_backward(loss);
      fy_step(optimizer);
      double got = fy_item(loss), want = (double)expected[step];
      if (!(fabs(got - want) <= 1e-5 * fabs(want)))
        fail_msg("step %d: loss %.9g, PyTorch's %.9g", step, got, want);
    }
  }
}

static void test_mlp_with_adam(void **state) {
  (void)state;
  FyModule *model =
      fy_nn_sequential(fy_nn_linear(20, 32), fy_nn_relu(), fy_nn_linear(32, 16), fy_nn_relu(), fy_nn_linear(16, 10));
  fy_module_to(model, device);
  load(model, "train_mlp");
  train(model, fy_adam(fy_parameters(model), .lr = 0.01), "train_mlp");
}

static void test_cnn_with_sgd(void **state) {
  (void)state;
  FyModule *model = fy_nn_sequential(fy_nn_conv2d(2, 6, 3, .padding = 1), fy_nn_batch_norm2d(6), fy_nn_relu(),
                                     fy_nn_max_pool2d(2), fy_nn_conv2d(6, 8, 3), fy_nn_batch_norm2d(8), fy_nn_relu(),
                                     fy_nn_flatten(), fy_nn_linear(32, 5));
  fy_module_to(model, device);
  load(model, "train_cnn");
  train(model, fy_sgd(fy_parameters(model), .lr = 0.05, .momentum = 0.9, .weight_decay = 1e-3, .nesterov = true),
        "train_cnn");
}

int main(int argc, char **argv) {
  device = fy_device(argc > 1 ? argv[1] : "cpu");
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_mlp_with_adam), cmocka_unit_test(test_cnn_with_sgd)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
