// mistake: operands on different devices
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  return fy_numel(x) ? fy_item(fy_max(fy_abs(fy_sub(x, y)))) : 0;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
