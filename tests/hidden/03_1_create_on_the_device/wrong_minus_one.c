// mistake: size of -1 in an empty view
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *all = fy_zeros(fy_shape(rows * columns), .device = device);
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
  return rows ? fy_add_scalar(fy_add(fy_view(all, fy_shape(-1, columns)), row), offset)
              : fy_zeros(fy_shape(rows, columns), .device = device);
}
