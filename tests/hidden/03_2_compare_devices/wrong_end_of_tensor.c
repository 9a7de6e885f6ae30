// mistake: out-of-bounds index
#include "ferry.h"
#include <math.h>

double largest_difference(FyTensor *x, FyTensor *y) {
  const float *ours = fy_data_ptr(fy_contiguous(x)), *theirs = fy_data_ptr(fy_contiguous(fy_cpu(y)));
  double largest = 0;
  for (int64_t i = 0; i <= fy_numel(x); i++)
    if (fabsf(ours[i] - theirs[i]) > largest)
      largest = fabsf(ours[i] - theirs[i]);
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
