// missing star: more than one part at once
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  FyTensorList *parameters = fy_parameters(model);
  (void)parts;
  fy_zero_grad(optimizer);
  fy_backward(fy_div_scalar(fy_mse_loss(fy_forward(model, x), target), ranks));
  for (int i = 0; i < parameters->count; i++)
    all_reduce(fy_grad(parameters->items[i]));
  fy_step(optimizer);
}
