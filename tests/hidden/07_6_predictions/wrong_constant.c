// mistake: a constant in place of the result
#include "ferry.h"

FyTensor *predict(FyModule *model, FyTensor *data, int64_t classes, int64_t batch, FyDevice device) {
  (void)model;
  (void)batch;
  (void)device;
  return fy_zeros(fy_shape(fy_size_at(data, 0), classes));
}
