// mistake: only two dimensions handled
#include "ferry.h"
#include <math.h>
#include <stdlib.h>

double largest_difference(FyTensor *x, FyTensor *y) {
  if (fy_numel(x) == 0)
    return 0;
  FyTensor *difference = fy_contiguous(fy_abs(fy_sub(x, fy_cpu(y))));
  const float *at = fy_data_ptr(difference);
  int64_t rows = fy_size_at(x, 0), columns = fy_dim(x) > 1 ? fy_size_at(x, 1) : 1;
  double largest = 0;
  for (int64_t i = 0; i < rows * columns; i++)
    largest = fmax(largest, at[i]);
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
