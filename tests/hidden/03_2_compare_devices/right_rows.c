// missing star: one transfer per row
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  return fy_numel(x) ? fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y))))) : 0;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  FyTensor *there = fy_empty(fy_size(a), .device = device);
  for (int64_t i = 0; i < fy_size_at(a, 0); i++)
    fy_copy_(fy_select(there, 0, i), fy_to(fy_select(a, 0, i), device));
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(there, fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
