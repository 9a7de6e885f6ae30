// mistake: result of fy_to ignored
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  return fy_numel(x) ? fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y))))) : 0;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  fy_to(a, device);
  fy_to(b, device);
  *on_device = fy_matmul(a, b);
  return largest_difference(*on_cpu, *on_device);
}
