// mistake: result of an out-of-place operation ignored
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
  FyTensor *grid = fy_contiguous(fy_expand(row, fy_shape(rows, columns)));
  fy_add_scalar(grid, offset);
  return grid;
}
