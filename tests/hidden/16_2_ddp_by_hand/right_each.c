// missing star: all-reduce after every part
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  const int64_t rows = fy_size_at(x, 0) / parts;
  FyTensorList *parameters = fy_parameters(model);
  FyTensor *sums[8];
  for (int i = 0; i < parameters->count; i++)
    sums[i] = fy_zeros_like(parameters->items[i]);
  for (int part = 0; part < parts; part++) {
    fy_zero_grad(optimizer);
    FyTensor *output = fy_forward(model, fy_narrow(x, 0, part * rows, rows));
    fy_backward(fy_mse_loss(output, fy_narrow(target, 0, part * rows, rows)));
    for (int i = 0; i < parameters->count; i++) {
      all_reduce(fy_grad(parameters->items[i]));
      fy_no_grad
        fy_add_(sums[i], fy_div_scalar(fy_grad(parameters->items[i]), parts * ranks));
    }
  }
  for (int i = 0; i < parameters->count; i++)
    fy_set_grad(parameters->items[i], fy_detach(sums[i]));
  fy_step(optimizer);
}
