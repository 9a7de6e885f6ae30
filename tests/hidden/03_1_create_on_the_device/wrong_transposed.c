// mistake: non-contiguous result
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *column = fy_unsqueeze(fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device), 1);
  FyTensor *tall = fy_contiguous(fy_expand(fy_add_scalar(column, offset), fy_shape(columns, rows)));
  return fy_transpose(tall, 0, 1);
}
