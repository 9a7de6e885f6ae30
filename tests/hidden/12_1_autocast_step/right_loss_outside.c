#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm) {
  FyTensor *loss = NULL;
  FyTensor *output = NULL;
  fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16, .cache_enabled = false) output = fy_forward(model, x);
  loss = fy_mse_loss(fy_float(output), y);
  FyTensor *scaled = fy_scaler_scale(scaler, loss), *result = fy_clone(fy_detach(loss));
  fy_zero_grad(optimizer);
  fy_backward(scaled);
  fy_scaler_unscale_(scaler, optimizer);
  fy_clip_grad_norm_(fy_parameters(model), max_norm);
  bool stepped = fy_scaler_step(scaler, optimizer);
  (void)stepped;
  fy_scaler_update(scaler);
  return result;
}
