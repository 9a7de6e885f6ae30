#include "ferry.h"

// The mean of the batches' means, which are of one size; each computed outside of the region.
static FyTensor *output_of(FyModule *model, FyTensor *x) {
  FyTensor *output = NULL;
  fy_autocast(fy_device_of(x).type, .dtype = FY_FLOAT16) {
    output = fy_forward(model, x);
  }
  return fy_to_dtype(output, FY_FLOAT32);
}

FyTensor *mean_squared_error(FyModule *model, FyTensor *x, FyTensor *y) {
  int64_t batches = fy_size_at(x, 0);
  FyTensor *means = fy_empty(fy_shape(batches), .device = fy_device_of(y));
  fy_no_grad {
    for (int64_t i = 0; i < batches; i++) {
      fy_scope {
        FyTensor *error = fy_sub_(output_of(model, fy_select(x, 0, i)), fy_select(y, 0, i));
        fy_copy_(fy_select(means, 0, i), fy_mean(fy_pow_scalar_(error, 2)));
      }
    }
  }
  return fy_mean(means);
}
