// mistake: autocast in both training runs
#include "ferry.h"

enum { WARM_UP = 2, MOST_PARAMETERS = 8 };

static void train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y) {
  fy_scope {
    FyTensor *loss = NULL;
    fy_zero_grad(optimizer);
    fy_autocast(FY_CUDA, .dtype = FY_FLOAT16) {
      loss = fy_mse_loss(fy_forward(model, x), y);
    }
    fy_backward(fy_scaler_scale(scaler, loss));
    fy_scaler_step(scaler, optimizer);
    fy_scaler_update(scaler);
  }
}

// From the weights that the model has now.
static double steps_per_second(FyModule *model, FyTensor *x, FyTensor *y, int steps, bool mixed) {
  FyDevice device = fy_device_of(x);
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
  FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 1024, .enabled = mixed);
  for (int i = 0; i < WARM_UP; i++)
    train_step(model, optimizer, scaler, x, y);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i < steps; i++)
    train_step(model, optimizer, scaler, x, y);
  fy_synchronize(device);
  return steps / (seconds_now() - start);
}

static void put_back(FyTensorList *parameters, FyTensor **initial) {
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      fy_copy_(parameters->items[i], initial[i]);
  }
}

void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *initial[MOST_PARAMETERS];
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      initial[i] = fy_clone(parameters->items[i]);
  }
  result->float32 = steps_per_second(model, x, y, steps, false);
  put_back(parameters, initial);
  result->mixed = steps_per_second(model, x, y, steps, true);
  put_back(parameters, initial);
  result->times_as_fast = result->mixed / result->float32;
}
