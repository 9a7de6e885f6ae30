#include "ferry.h"

static void one_group(FyModule *model, FyTensor *x, FyTensor *target, double share, FyTensor *total) {
  FyTensor *loss = fy_mul_scalar(fy_mse_loss(fy_forward(model, x), target), share);
  fy_backward(loss);
  fy_no_grad {
    fy_copy_(total, fy_add(total, loss));
  }
}

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  int64_t count = fy_size_at(x, 0), whole = count / rows, rest = count % rows;
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  for (int64_t g = 0; g < whole; g++) {
    fy_scope {
      one_group(model, fy_narrow(x, 0, g * rows, rows), fy_narrow(target, 0, g * rows, rows),
                (double)rows / (double)count, total);
    }
  }
  if (rest > 0) {
    fy_scope {
      one_group(model, fy_narrow(x, 0, count - rest, rest), fy_narrow(target, 0, count - rest, rest),
                (double)rest / (double)count, total);
    }
  }
  return total;
}
