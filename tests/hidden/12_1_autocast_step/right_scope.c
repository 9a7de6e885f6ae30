#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm) {
  FyTensor *result = NULL;
  int scope = fy_scope_open();
  fy_zero_grad(optimizer);
  fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16, .enabled = true) {
    FyTensor *loss = fy_mse_loss(fy_forward(model, x), y);
    result = fy_scaler_scale(scaler, loss); // a product with a number is computed in what types it has
    fy_autocast(fy_device_of(x).type, .enabled = false) {
      fy_backward(result);
    }
    result = fy_detach(loss);
  }
  fy_scaler_unscale_(scaler, optimizer);
  fy_clip_grad_norm_(fy_parameters(model), max_norm);
  fy_scaler_step(scaler, optimizer);
  fy_scaler_update(scaler);
  fy_keep(result);
  fy_scope_close(scope);
  return result;
}
