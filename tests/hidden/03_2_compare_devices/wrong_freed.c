// mistake: use after free
#include "ferry.h"
#include <math.h>
#include <stdlib.h>

static float *fetched(FyTensor *x) {
  float *data = calloc((size_t)fy_numel(x) + 1, sizeof *data);
  fy_copy_to_host(x, data);
  free(data);
  return data;
}

double largest_difference(FyTensor *x, FyTensor *y) {
  const float *ours = fetched(x), *theirs = fetched(y);
  double largest = 0;
  for (int64_t i = 0; i < fy_numel(x); i++)
    largest = fmax(largest, fabs((double)ours[i] - theirs[i]));
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
