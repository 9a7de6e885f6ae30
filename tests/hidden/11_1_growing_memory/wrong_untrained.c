// mistake: parameters not updated
#include "ferry.h"

FyTensor *train(FyModule *model, FyTensor *x, FyTensor *y, double lr) {
  (void)lr;
  FyTensor *losses = fy_zeros(fy_shape(fy_size_at(x, 0)), .device = fy_device_of(x));
  for (int64_t i = 0; i < fy_size_at(x, 0); i++) {
    fy_scope {
      fy_no_grad {
        fy_copy_(fy_select(losses, 0, i), fy_mse_loss(fy_forward(model, fy_select(x, 0, i)), fy_select(y, 0, i)));
      }
    }
  }
  return losses;
}
