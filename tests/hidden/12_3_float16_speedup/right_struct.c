// A training is a struct with a function for some of its steps.
#include "ferry.h"

typedef struct Training {
  FyModule *model;
  FyTensor *x, *y;
  FyOptimizer *optimizer;
  FyGradScaler *scaler; // NULL: float32
} Training;

static FyTensor *loss_of(const Training *t) {
  FyTensor *output = NULL;
  if (!t->scaler)
    return fy_mse_loss(fy_forward(t->model, t->x), t->y);
  fy_autocast(FY_CUDA, .dtype = FY_FLOAT16) {
    output = fy_forward(t->model, t->x);
  }
  return fy_mse_loss(fy_float(output), t->y);
}

static void run(const Training *t, int steps) {
  while (steps-- > 0) {
    fy_scope {
      FyTensor *loss = loss_of(t);
      fy_module_zero_grad(t->model);
      if (t->scaler) {
        fy_backward(fy_scaler_scale(t->scaler, loss));
        fy_scaler_step(t->scaler, t->optimizer);
        fy_scaler_update(t->scaler);
      } else {
        fy_backward(loss);
        fy_step(t->optimizer);
      }
    }
  }
}

static double idle_now(FyDevice device) {
  fy_synchronize(device);
  return seconds_now();
}

static double rate(FyModule *model, FyTensor *x, FyTensor *y, int steps, FyGradScaler *scaler) {
  double result = 0;
  fy_scope {
    FyTensorList *parameters = fy_parameters(model);
    FyTensor *before[8];
    for (int i = 0; i < parameters->count; i++)
      before[i] = fy_clone(fy_detach(parameters->items[i]));
    Training t = {model, x, y, fy_sgd(parameters, .lr = 0.125, .momentum = 0.5), scaler};
    run(&t, 2);
    double start = idle_now(fy_device_of(x));
    run(&t, steps);
    result = steps / (idle_now(fy_device_of(x)) - start);
    fy_no_grad {
      for (int i = 0; i < parameters->count; i++)
        fy_copy_(parameters->items[i], before[i]);
    }
  }
  return result;
}

void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  result->float32 = rate(model, x, y, steps, NULL);
  result->mixed = rate(model, x, y, steps, fy_grad_scaler(FY_CUDA, .init_scale = 1024));
  result->times_as_fast = result->mixed / result->float32;
}
