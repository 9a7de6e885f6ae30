// mistake: result copied back to the CPU
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
  FyTensor *grid = fy_expand(row, fy_shape(rows, columns));
  return fy_cpu(fy_contiguous(fy_add_scalar(grid, offset)));
}
