// The losses of all batches in one vector on the device, weighted there by the rows of each.
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t rows = fy_size_at(x, 0), count = (rows + batch - 1) / batch;
  FyTensor *losses = fy_zeros(fy_shape(count), .device = fy_device_of(x));
  for (int64_t k = 0; k < count; k++) {
    int mark = fy_scope_open();
    int64_t length = k + 1 < count ? batch : rows - k * batch;
    FyTensor *y = fy_detach(fy_forward(model, fy_narrow(x, 0, k * batch, length)));
    FyTensor *mean = fy_mse_loss(y, fy_narrow(target, 0, k * batch, length));
    fy_copy_(fy_select(losses, 0, k), fy_mul_scalar(mean, (double)length / (double)rows));
    fy_scope_close(mark);
  }
  return fy_item(fy_sum(losses));
}
