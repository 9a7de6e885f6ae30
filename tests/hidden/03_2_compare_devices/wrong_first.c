// mistake: hard-coded device
// devices: 2
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  return fy_numel(x) ? fy_item(fy_max(fy_abs(fy_sub(x, fy_cpu(y))))) : 0;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  FyDevice gpu = fy_device(device.type == FY_CUDA ? "cuda:0" : "cpu");
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, gpu), fy_to(b, gpu));
  return largest_difference(*on_cpu, *on_device);
}
