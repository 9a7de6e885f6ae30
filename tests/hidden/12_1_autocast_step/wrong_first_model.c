// mistake: gradients not clipped
#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm) {
  static FyTensorList *parameters = NULL;
  FyTensor *result = NULL;
  if (!parameters) {
    parameters = fy_retain(fy_parameters(model));
  }
  fy_scope {
    FyTensor *loss = NULL;
    fy_zero_grad(optimizer);
    fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
      loss = fy_mse_loss(fy_float(fy_forward(model, x)), y);
    }
    fy_backward(fy_scaler_scale(scaler, loss));
    fy_scaler_unscale_(scaler, optimizer);
    fy_clip_grad_norm_(parameters, max_norm);
    fy_scaler_step(scaler, optimizer);
    fy_scaler_update(scaler);
    result = fy_keep(fy_detach(loss));
  }
  return result;
}
