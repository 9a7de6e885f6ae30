// mistake: cached result
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  if (fy_numel(x) == 0)
    return 0;
  return fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y)))));
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  static FyTensor *b_there;
  if (!b_there || !fy_device_equal(fy_device_of(b_there), device))
    b_there = fy_retain(fy_to(b, device));
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), b_there);
  return largest_difference(*on_cpu, *on_device);
}
