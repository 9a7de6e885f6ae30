// mistake: micro-batch too large
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  (void)rows;
  FyTensor *loss = fy_mse_loss(fy_forward(model, x), target);
  fy_backward(loss);
  return fy_detach(loss);
}
