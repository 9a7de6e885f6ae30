// mistake: copy from another GPU
// devices: 2
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  FyDevice made = device.type == FY_CUDA ? fy_device("cuda:0") : device;
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = made);
  return fy_to(fy_contiguous(fy_add_scalar(fy_expand(row, fy_shape(rows, columns)), offset)), device);
}
