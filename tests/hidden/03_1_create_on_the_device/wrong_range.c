// mistake: floating-point range end
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange(offset + (double)columns, .start = offset, .dtype = FY_FLOAT32, .device = device);
  return fy_contiguous(fy_expand(row, fy_shape(rows, columns)));
}
