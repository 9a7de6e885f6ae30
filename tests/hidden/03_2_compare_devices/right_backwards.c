// Minimum and maximum of the signed difference.
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  if (fy_numel(x) == 0)
    return 0;
  FyTensor *difference = fy_sub(fy_to(y, FY_CPU_DEVICE), x);
  double most = fy_item(fy_max(difference)), least = fy_item(fy_min(difference));
  return most > -least ? most : -least;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  FyTensor *a_there = fy_to(a, device), *b_there = fy_to(b, device);
  *on_device = fy_matmul(a_there, b_there);
  *on_cpu = fy_matmul(a, b);
  double largest = 0;
  fy_no_grad {
    largest = largest_difference(*on_cpu, *on_device);
  }
  return largest;
}
