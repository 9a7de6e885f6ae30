#include "ferry.h"

FyTensor *train_step(FyModule *model, FyOptimizer *optimizer, FyGradScaler *scaler, FyTensor *x, FyTensor *y,
                     double max_norm) {
  FyTensor *loss = NULL;
  FyTensorList *parameters = fy_parameters(model);
  for (int i = 0; i < parameters->count; i++) {
    fy_set_grad(parameters->items[i], NULL);
  }
  fy_autocast(fy_is_cuda(x) ? FY_CUDA : FY_CPU, .dtype = FY_FLOAT16) {
    loss = fy_mse_loss(fy_forward(model, x), y);
  }
  fy_backward(fy_scaler_scale(scaler, loss));
  fy_scaler_unscale_(scaler, optimizer);
  fy_clip_grad_norm_(parameters, max_norm);
  fy_scaler_step(scaler, optimizer);
  fy_scaler_update(scaler);
  return fy_detach(loss);
}
