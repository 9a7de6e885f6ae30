// Exercise 3.1: made where it is needed                                         (chapter 3, docs/03_tensor_moves.md)
//
// Write offset_grid: a rows x columns float32 tensor on `device` whose element (i, j) is
//
//   offset + j            (the same in every row)
//
//   PyTorch:  offset + torch.arange(columns, device=device, dtype=torch.float32).expand(rows, columns).contiguous()
//
// Given: a device (the CPU, or any CUDA device), rows and columns (either may be 0), and offset, any number up to 1e15
// either way (a whole one, too).
// Counted: copies between host and device, and between devices. There is no need for one: whatever is made, is made on
// the device.
// The result is contiguous and has memory of its own for each of its elements, in each call anew: the caller may write
// into it.
#include "ferry.h"

FyTensor *offset_grid(FyDevice device, int64_t rows, int64_t columns, double offset) {
  (void)device;
  (void)rows;
  (void)columns;
  (void)offset;
  return NULL; // the grid goes here
}
