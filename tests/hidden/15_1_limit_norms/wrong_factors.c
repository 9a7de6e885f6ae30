// mistake: values of the example in the trace
#include "ferry.h"
#include <math.h>

// The factors are computed on the host, and put into a tensor.
FyTensor *limit_norms(FyTensor *x, double limit) {
  enum { MOST_ROWS = 256 };
  float factors[MOST_ROWS];
  const int64_t count = fy_size_at(x, 0);
  for (int i = 0; i < count; i++) {
    FyTensor *row = fy_select(x, 0, i);
    const double norm = sqrt(fy_item(fy_sum(fy_mul(row, row))));
    factors[i] = (float)(norm > limit ? limit / norm : 1);
  }
  return fy_mul(x, fy_tensor(factors, fy_shape(count, 1), .device = fy_device_of(x)));
}
