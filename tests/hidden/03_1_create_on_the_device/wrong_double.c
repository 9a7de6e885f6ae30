// mistake: wrong dtype
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT64, .device = device);
  return fy_contiguous(fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset));
}
