// mistake: rows and columns swapped
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *column = fy_arange((double)rows, .dtype = FY_FLOAT32, .device = device);
  return fy_contiguous(fy_add_scalar(fy_expand(fy_unsqueeze(column, 1), fy_shape(rows, columns)), offset));
}
