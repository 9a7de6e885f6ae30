#include "ferry.h"

// The weight is the gradient that backward starts with; the loss is added up on the host.
FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  FyDevice device = fy_device_of(x);
  int64_t count = fy_size_at(x, 0), done = 0;
  double total = 0;
  while (done < count) {
    int64_t n = rows;
    if (n > count - done) {
      n = count - done;
    }
    fy_scope {
      double share = (double)n / (double)count;
      FyTensor *output = fy_forward(model, fy_narrow(x, 0, done, n));
      FyTensor *loss = fy_mse_loss(output, fy_narrow(target, 0, done, n));
      fy_backward(loss, .gradient = fy_full(share, FY_SCALAR, .device = device));
      total += share * fy_item(loss);
    }
    done += n;
  }
  return fy_full(total, FY_SCALAR, .device = device);
}
