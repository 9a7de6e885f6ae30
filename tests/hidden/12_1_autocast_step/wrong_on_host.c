// mistake: result on the wrong device
#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm) {
  FyTensor *loss = NULL;
  fy_zero_grad(optimizer);
  fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
    loss = fy_mse_loss(fy_forward(model, x), y);
  }
  fy_backward(fy_scaler_scale(scaler, loss));
  fy_scaler_unscale_(scaler, optimizer);
  fy_clip_grad_norm_(fy_parameters(model), max_norm);
  fy_scaler_step(scaler, optimizer);
  fy_scaler_update(scaler);
  return fy_cpu(fy_detach(loss));
}
