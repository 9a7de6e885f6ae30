// Outer product of a column of ones and a row.
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
  FyTensor *ones = fy_ones(fy_shape(rows, 1), .device = device);
  return fy_mul(ones, fy_add_scalar(row, offset));
}
