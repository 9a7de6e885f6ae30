// mistake: cached result
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  static FyTensor *grid;
  static double last;
  bool same = grid && fy_size_at(grid, 0) == rows && fy_size_at(grid, 1) == columns && last == offset &&
              fy_device_equal(fy_device_of(grid), device);
  if (!same) {
    FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
    grid = fy_retain(fy_contiguous(fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset)));
    last = offset;
  }
  return grid;
}
