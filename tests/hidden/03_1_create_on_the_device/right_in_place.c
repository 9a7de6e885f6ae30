// fy_full, then the row is added in place.
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *grid = fy_full(offset, fy_shape(rows, columns), .device = device);
  return fy_add_(grid, fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device));
}
