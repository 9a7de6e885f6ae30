// mistake: caller's tensor changed
#include "ferry.h"

FyTensor *mean_squared_error(FyModule *model, FyTensor *x, FyTensor *y) {
  int64_t batches = fy_size_at(x, 0);
  FyTensor *total = fy_zeros(FY_SCALAR, .device = fy_device_of(x));
  fy_no_grad {
    fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
      for (int64_t i = 0; i < batches; i++) {
        fy_scope {
          FyTensor *output = fy_forward(model, fy_select(x, 0, i));
          FyTensor *error = fy_sub_(fy_select(y, 0, i), output);
          fy_add_(total, fy_sum(fy_mul(error, error)));
        }
      }
    }
  }
  return fy_div_scalar(total, (double)fy_numel(y));
}
