// mistake: wrong divisor
#include "ferry.h"

double evaluate(FyModule *model, FyTensor *x, FyTensor *target, int64_t batch) {
  int64_t n = fy_size_at(x, 0), batches = (n + batch - 1) / batch;
  double result = 0;
  fy_no_grad {
    FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
    for (int64_t k = 0; k < batches; k++) {
      fy_scope {
        int64_t begin = k * batch, end = begin + batch < n ? begin + batch : n;
        FyTensor *y = fy_forward(model, fy_slice(x, 0, begin, end, 1));
        fy_add_(total, fy_mse_loss(y, fy_slice(target, 0, begin, end, 1), .reduction = FY_REDUCE_SUM));
      }
    }
    result = fy_item(total) / (double)(batches * batch * fy_size_at(target, 1));
  }
  return result;
}
