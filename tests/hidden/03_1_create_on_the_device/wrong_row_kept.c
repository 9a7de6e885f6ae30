// mistake: cached result
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  static FyTensor *row;
  if (!row || fy_size_at(row, 0) != columns || !fy_device_equal(fy_device_of(row), device))
    row = fy_retain(fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device));
  FyTensor *grid = fy_expand(row, fy_shape(rows, columns));
  return offset == 0 ? fy_contiguous(grid) : fy_contiguous(fy_add_scalar(grid, offset));
}
