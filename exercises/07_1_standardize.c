// Exercise 7.1: find the bug, tensors on two devices                    (chapters 3 and 7, docs/07_pitfalls.md)
//
// standardize brings each column of a table to mean 0 and standard deviation 1, and then adds the column's number, so
// that the columns lie side by side in a plot. It works on the CPU. With x on a GPU it raises
//
//   RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!
//
// Mend it. The result is on x's device, whichever that is: the CPU, the first GPU or another.
//
//   PyTorch, with everything on one device:  (x - mean) / std + torch.arange(x.size(1))
//
// Given: x (rows, columns) float32, any strides, on any device; mean and std (columns) float32, always on the CPU, std
// above 0; none of these is in pinned memory. Numbers may be tiny (1 / std is finite). None of the three may be changed
// or given up; a packed copy of x may be made on its own device; a second call brings a mean and a std of its own.
// Counted: copies between host and device. mean and std cross once each; nothing else has a reason to.
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyTensor *place = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32); // (columns)
  FyTensor *centred = fy_sub(x, mean);
  FyTensor *scaled = fy_div(centred, std);
  return fy_add(scaled, place);
}
