// mistake: strides ignored
#include "ferry.h"
#include <math.h>

double largest_difference(FyTensor *x, FyTensor *y) {
  const float *here = fy_data_ptr(x), *there = fy_data_ptr(fy_contiguous(fy_cpu(y)));
  double largest = 0;
  for (int64_t i = 0; i < fy_numel(x); i++)
    largest = fmax(largest, fabs((double)here[i] - there[i]));
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
