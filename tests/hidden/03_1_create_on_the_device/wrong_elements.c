// mistake: one transfer per element
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *grid = fy_zeros(fy_shape(rows, columns), .device = device);
  for (int64_t j = 0; j < columns; j++) {
    FyTensor *value = fy_to(fy_full(offset + (double)j, fy_shape(1)), device);
    fy_copy_(fy_select(grid, 1, j), value);
  }
  return grid;
}
