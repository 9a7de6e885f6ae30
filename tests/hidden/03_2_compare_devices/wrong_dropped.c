// mistake: caller's tensor freed
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  if (fy_numel(x) == 0)
    return 0;
  double largest = 0;
  fy_scope {
    largest = fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y)))));
  }
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  FyTensor *a_there = fy_to(a, device), *b_there = fy_to(b, device);
  *on_device = fy_matmul(a_there, b_there);
  fy_drop(a_there); // they have done their work
  fy_drop(b_there);
  return largest_difference(*on_cpu, *on_device);
}
