// mistake: constant result
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  (void)x;
  (void)y;
  return 0; // they agree
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  (void)device;
  *on_cpu = fy_matmul(a, b);
  *on_device = *on_cpu;
  return 0;
}
