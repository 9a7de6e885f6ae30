// mistake: integer overflow
#include "ferry.h"

FyTensor *accumulate(FyModule *model, FyTensor *x, FyTensor *target, int64_t rows) {
  int64_t count = fy_size_at(x, 0), begin = 0;
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  while (begin < count) {
    int length = (int)rows;
    if (length > count - begin)
      length = (int)(count - begin);
    fy_scope {
      FyTensor *xs = fy_narrow(x, 0, begin, length), *ts = fy_narrow(target, 0, begin, length);
      FyTensor *loss = fy_mul_scalar(fy_mse_loss(fy_forward(model, xs), ts), (double)length / (double)count);
      fy_backward(loss);
      fy_add_(total, fy_detach(loss));
    }
    begin += length;
  }
  return total;
}
