// Exercise 3.1: Create a tensor on its device         lesson 3 · easy · 10 min
//
// Task      Create a float32 grid directly on a device, without copying it
//           there. Element (i, j) of the grid is offset + j:
//               row = torch.arange(columns, device=device, dtype=torch.float32)
//               grid = (offset + row).expand(rows, columns).contiguous()
// Example   2 rows, 3 columns, offset 0.5   ->   0.5 1.5 2.5
//                                                0.5 1.5 2.5
// Write     offset_grid
// Inputs    device         the CPU or any CUDA device
//           rows, columns  may be 0
//           offset         -1000 to 1000, may have a fraction
// Required  - each call returns a new contiguous float32 tensor on `device`
//           - no copies between host and device, or between devices
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  // [answer]
  FyTensor *row = fy_arange((double)columns, .dtype = FY_FLOAT32, .device = device);
  FyTensor *grid = fy_expand(row, fy_shape(rows, columns));
  return fy_contiguous(fy_add_scalar(grid, offset));
  // [stub]
  //| return NULL;
  // [end]
}
