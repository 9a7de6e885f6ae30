// mistake: gradients not reduced over the ranks
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  (void)ranks;
  (void)all_reduce;
  (void)parts;
  const int64_t rows = fy_size_at(x, 0) / parts;
  fy_zero_grad(optimizer);
  for (int part = 0; part < parts; part++) {

    FyTensor *loss =
        fy_mse_loss(fy_forward(model, fy_narrow(x, 0, part * rows, rows)), fy_narrow(target, 0, part * rows, rows));
    fy_backward(fy_div_scalar(loss, parts));
  }
  fy_step(optimizer);
}
