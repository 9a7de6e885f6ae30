// mistake: offset converted to an integer
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  int first = (int)offset;
  FyTensor *row = fy_arange((double)(first + columns), .start = first, .dtype = FY_FLOAT32, .device = device);
  return fy_contiguous(fy_expand(row, fy_shape(rows, columns)));
}
