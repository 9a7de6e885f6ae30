// mistake: expanded view returned
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
  return fy_expand(fy_add_scalar(row, offset), fy_shape(rows, columns));
}
