// Exercise 7.1: Find the bug: standardize a table     lesson 7 · easy · 10 min
//
// Task      standardize scales each column of a table to mean 0 and standard
//           deviation 1, and adds the column index, for a plot:
//               (x - mean) / std + torch.arange(x.size(1))
//           It works on the CPU. If x is on a GPU, it raises a RuntimeError.
// Example   x = [[3, 4]], mean = [1, 2], std = [2, 1]   ->   [[1, 3]]
// Fix       standardize.
// Inputs    x          (rows, columns) float32, any device and strides; rows
//                      may be 0
//           mean, std  (columns) float32, always on the CPU; std > 0
// Required  - in every call, the result is correct and on x's device
//           - x's device computes the result; nothing is copied to the host
//           - the inputs are unchanged
// Stars     ** mean and std are copied once each, and nothing else is copied
#include "ferry.h"

FyTensor *standardize(FyTensor *x, FyTensor *mean, FyTensor *std) {
  FyTensor *number = fy_arange((double)fy_size_at(x, 1), .dtype = FY_FLOAT32); // (columns)
  FyTensor *centered = fy_sub(x, mean);
  FyTensor *scaled = fy_div(centered, std);
  return fy_add(scaled, number);
}
