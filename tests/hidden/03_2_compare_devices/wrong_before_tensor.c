// mistake: out-of-bounds index
#include "ferry.h"
#include <math.h>

double largest_difference(FyTensor *x, FyTensor *y) {
  double largest = 0;
  fy_scope {
    FyTensor *difference = fy_contiguous(fy_abs(fy_sub(x, fy_cpu(y))));
    float *data = fy_data_ptr(difference);
    for (int64_t i = fy_numel(x) - 1; i >= 0; i--) // what is larger goes to the front
      data[i - 1] = fmaxf(data[i], data[i - 1]);
    largest = fy_numel(x) ? fmax(data[0], data[-1]) : 0;
  }
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
