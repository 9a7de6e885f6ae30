// missing star: one transfer per element
#include "ferry.h"

double largest_difference(FyTensor *x, FyTensor *y) {
  double largest = 0;
  for (int64_t i = 0; i < fy_numel(x); i++) {
    FyTensor *ours = fy_select(fy_reshape(x, fy_shape(-1)), 0, i);
    FyTensor *theirs = fy_select(fy_reshape(y, fy_shape(-1)), 0, i);
    double difference = fy_item(ours) - fy_item(theirs);
    largest = difference > largest ? difference : -difference > largest ? -difference : largest;
  }
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
