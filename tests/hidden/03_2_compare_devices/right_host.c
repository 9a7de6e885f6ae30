// A plain loop over host memory.
#include "ferry.h"
#include <math.h>
#include <stdlib.h>

double largest_difference(FyTensor *x, FyTensor *y) {
  int64_t count = fy_numel(x);
  float *ours = malloc(fy_nbytes(x)), *theirs = malloc(fy_nbytes(y));
  double largest = 0;
  fy_copy_to_host(x, ours);
  fy_copy_to_host(y, theirs);
  for (int64_t i = 0; i < count; i++)
    largest = fmax(largest, fabs((double)ours[i] - theirs[i]));
  free(ours);
  free(theirs);
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  FyTensor *there = fy_empty(fy_size(b), .device = device);
  fy_copy_(there, b);
  *on_device = fy_matmul(fy_to(a, device), there);
  *on_cpu = fy_matmul(a, b);
  return largest_difference(*on_cpu, *on_device);
}
