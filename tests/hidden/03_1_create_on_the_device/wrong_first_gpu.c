// mistake: hard-coded device
// devices: 2
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyDevice here = device.type == FY_CUDA ? fy_device("cuda") : device;
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = here);
  return fy_contiguous(fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset));
}
