// mistake: catastrophic cancellation
#include "ferry.h"

FyTensor *mean_squared_error(FyModule *model, FyTensor *x, FyTensor *y) {
  int64_t batches = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_no_grad {
    for (int64_t i = 0; i < batches; i++) {
      fy_scope {
        FyTensor *output = NULL, *target = fy_select(y, 0, i);
        fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
          output = fy_forward(model, fy_select(x, 0, i));
        }
        FyTensor *o = fy_float(output);
        FyTensor *squares = fy_add(fy_sub(fy_mul(o, o), fy_mul(fy_mul_scalar(o, 2), target)), fy_mul(target, target));
        fy_add_(total, fy_sum(squares));
      }
    }
    total = fy_div_scalar(total, (double)fy_numel(y));
  }
  return total;
}
