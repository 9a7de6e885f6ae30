// The two loops written out, without a function for a step.
#include "ferry.h"

static FyTensor *loss_of(FyModule *model, FyTensor *x, FyTensor *y) {
  return fy_mse_loss(fy_forward(model, x), y);
}

void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  FyTensorList *state = fy_parameters(model);
  FyTensor *kept[8];
  double start = 0;
  for (int i = 0; i < state->count; i++)
    kept[i] = fy_clone(fy_detach(state->items[i]));

  FyOptimizer *plain = fy_sgd(state, .lr = 0.125, .momentum = 0.5);
  for (int i = 0; i < steps + 2; i++) {
    if (i == 2) {
      fy_synchronize(fy_device_of(x));
      start = seconds_now();
    }
    fy_zero_grad(plain);
    fy_backward(loss_of(model, x, y));
    fy_step(plain);
  }
  fy_synchronize(fy_device_of(x));
  result->float32 = steps / (seconds_now() - start);
  fy_no_grad {
    for (int i = 0; i < state->count; i++)
      fy_copy_(state->items[i], kept[i]);
  }

  FyOptimizer *mixed = fy_sgd(state, .lr = 0.125, .momentum = 0.5);
  FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 1024);
  for (int i = -2; i < steps; i++) {
    if (i == 0) {
      fy_synchronize(fy_device_of(x));
      start = seconds_now();
    }
    FyTensor *loss = NULL;
    fy_zero_grad(mixed);
    fy_autocast(FY_CUDA) {
      loss = loss_of(model, x, y);
    }
    fy_backward(fy_scaler_scale(scaler, loss));
    fy_scaler_unscale_(scaler, mixed);
    fy_scaler_step(scaler, mixed);
    fy_scaler_update(scaler);
  }
  fy_synchronize(fy_device_of(x));
  result->mixed = steps / (seconds_now() - start);
  result->times_as_fast = result->mixed / result->float32;
  fy_no_grad {
    for (int i = 0; i < state->count; i++)
      fy_copy_(state->items[i], kept[i]);
  }
}
