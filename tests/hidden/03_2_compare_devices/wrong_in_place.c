// mistake: caller's tensor changed
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  if (fy_numel(x) == 0)
    return 0;
  return fy_item(fy_max(fy_abs(fy_sub_(x, fy_cpu(y)))));
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
