// mistake: row offset added
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyTensor *numbers = fy_arange((double)(rows * columns), .device = device, .dtype = FY_FLOAT32);
  fy_add_scalar_(numbers, offset);
  return fy_view(numbers, fy_shape(rows, columns));
}
