// Sums one more number, the count of rows.
#include "ferry.h"

void ddp_step(FyModule *model, FyOptimizer *optimizer, FyTensor *x, FyTensor *target, int parts, int ranks,
              void (*all_reduce)(FyTensor *t)) {
  const int64_t each = fy_size_at(x, 0) / parts;
  FyTensorList *all = fy_parameters(model);
  fy_zero_grad(optimizer);
  for (int64_t first = 0; first < each * parts; first += each) {
    FyTensor *output = fy_forward(model, fy_narrow(x, 0, first, each));
    fy_backward(fy_div_scalar(fy_mse_loss(output, fy_narrow(target, 0, first, each)), parts));
  }
  for (int k = 0; k < all->count; k++)
    all_reduce(fy_div_scalar_(fy_grad(all->items[k]), ranks));
  fy_step(optimizer);
  all_reduce(fy_full((double)fy_size_at(x, 0), fy_shape(1))); // how many rows there were in all
}
