// mistake: clock started with work pending
// devices: 2
#include "ferry.h"
#include <stdlib.h>

static void one_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     bool mixed) {
  fy_scope {
    FyTensor *loss = NULL;
    fy_zero_grad(optimizer);
    fy_autocast(FY_CUDA, .dtype = FY_FLOAT16, .enabled = mixed) {
      loss = fy_mse_loss(fy_forward(model, x), y);
    }
    if (mixed) {
      fy_backward(fy_scaler_scale(scaler, loss));
      fy_scaler_step(scaler, optimizer);
      fy_scaler_update(scaler);
    } else {
      fy_backward(loss);
      fy_step(optimizer);
    }
  }
}

static void weights_from(FyTensorList *state, FyTensor *const *initial) {
  fy_no_grad {
    for (int i = 0; i < state->count; i++)
      fy_copy_(state->items[i], initial[i]);
  }
}

static double steps_per_second(FyModule *model, FyTensor *x, FyTensor *y, int steps, bool mixed) {
  double rate = 0;
  fy_scope {
    FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = 0.125, .momentum = 0.5);
    FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 1024);
    for (int i = 0; i < 2; i++)
      one_step(model, optimizer, scaler, x, y, mixed);
    fy_synchronize(fy_cuda_device(-1));
    double start = seconds_now();
    for (int i = 0; i < steps; i++)
      one_step(model, optimizer, scaler, x, y, mixed);
    fy_synchronize(fy_cuda_device(-1));
    rate = steps / (seconds_now() - start);
    fy_zero_grad(optimizer);
  }
  return rate;
}

void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  fy_scope {
    FyTensorList *state = fy_state_dict(model);
    FyTensor **initial = malloc((size_t)state->count * sizeof *initial);
    fy_check(initial != NULL, FY_OUT_OF_MEMORY_ERROR, "no memory");
    for (int i = 0; i < state->count; i++)
      initial[i] = fy_clone(state->items[i]);
    result->float32 = steps_per_second(model, x, y, steps, false);
    weights_from(state, initial);
    result->mixed = steps_per_second(model, x, y, steps, true);
    weights_from(state, initial);
    result->times_as_fast = result->mixed / result->float32;
    free(initial);
  }
}
