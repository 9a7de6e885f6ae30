// All batches in one forward pass, which is a single matrix product.
#include "ferry.h"

FyTensor *mean_squared_error(FyModule *model, FyTensor *x, FyTensor *y) {
  FyTensor *mean = NULL;
  fy_scope {
    fy_no_grad {
      FyTensor *rows = fy_reshape(x, fy_shape(fy_size_at(x, 0) * fy_size_at(x, 1), fy_size_at(x, 2)));
      FyTensor *output = NULL;
      fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
        output = fy_forward(model, rows);
      }
      FyTensor *error = fy_sub(fy_reshape(fy_float(output), fy_size(y)), y);
      mean = fy_keep(fy_mean(fy_mul(error, error)));
    }
  }
  return mean;
}
