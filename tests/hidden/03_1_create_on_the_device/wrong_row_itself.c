// mistake: expanded view returned
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .device = device, .dtype = FY_FLOAT32);
  FyTensor *grid = fy_expand(row, fy_shape(rows, columns));
  if (offset != 0)
    grid = fy_add_scalar(grid, offset); // a new tensor, row by row
  return grid;
}
