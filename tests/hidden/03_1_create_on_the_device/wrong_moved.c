// mistake: created on the CPU and moved
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32);
  FyTensor *grid = fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset);
  return fy_to(fy_contiguous(grid), device);
}
