// A loop over both, as PyTorch's way to write it.
#include "ferry.h"

void measure_gain(FyModule *model, FyTensor *x, FyTensor *y, int steps, Gain *result) {
  FyTensorList *weights = fy_parameters(model);
  FyTensor *kept[8];
  double rate[2];
  for (int i = 0; i < weights->count; i++)
    kept[i] = fy_clone(fy_detach(weights->items[i]));
  for (int mixed = 0; mixed < 2; mixed++) {
    FyOptimizer *optimizer = fy_sgd(weights, .lr = 0.125, .momentum = 0.5);
    FyGradScaler *scaler = fy_grad_scaler(FY_CUDA, .init_scale = 1024, .enabled = mixed);
    double start = 0;
    for (int i = 0; i < 2 + steps; i++) {
      fy_scope {
        if (i == 2) {
          fy_synchronize(fy_device_of(x));
          start = seconds_now();
        }
        FyTensor *loss;
        fy_zero_grad(optimizer);
        fy_autocast(FY_CUDA, .dtype = FY_FLOAT16, .enabled = mixed) {
          loss = fy_mse_loss(fy_forward(model, x), y);
        }
        fy_backward(fy_scaler_scale(scaler, loss));
        fy_scaler_step(scaler, optimizer);
        fy_scaler_update(scaler);
      }
    }
    fy_synchronize(fy_device_of(x));
    rate[mixed] = steps / (seconds_now() - start);
    fy_no_grad {
      for (int i = 0; i < weights->count; i++)
        fy_copy_(weights->items[i], kept[i]);
    }
  }
  *result = (Gain){rate[0], rate[1], rate[1] / rate[0]};
}
