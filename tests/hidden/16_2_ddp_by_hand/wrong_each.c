// mistake: accumulated gradients reduced again
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  const int64_t rows = fy_size_at(x, 0) / parts;
  FyTensorList *parameters = fy_parameters(model);
  fy_zero_grad(optimizer);
  for (int part = 0; part < parts; part++) {

    FyTensor *loss =
        fy_mse_loss(fy_forward(model, fy_narrow(x, 0, part * rows, rows)), fy_narrow(target, 0, part * rows, rows));
    fy_backward(fy_div_scalar(loss, parts * ranks));
    for (int i = 0; i < parameters->count; i++)
      all_reduce(fy_grad(parameters->items[i]));
  }
  fy_step(optimizer);
}
