// mistake: training mode not restored
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  const int64_t rows = fy_size_at(x, 0) / parts;
  fy_zero_grad(optimizer);
  fy_eval(model);
  for (int part = 0; part < parts; part++) {
    fy_scope {
      FyTensor *output = fy_forward(model, fy_narrow(x, 0, part * rows, rows));
      FyTensor *loss = fy_mse_loss(output, fy_narrow(target, 0, part * rows, rows));
      fy_backward(fy_div_scalar(loss, parts * ranks)); // the mean of the parts' and the ranks' means
    }
  }
  FyTensorList *parameters = fy_parameters(model);
  for (int i = 0; i < parameters->count; i++)
    all_reduce(fy_grad(parameters->items[i]));
  fy_step(optimizer);
}
