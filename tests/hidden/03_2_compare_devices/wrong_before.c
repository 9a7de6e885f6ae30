// mistake: out-of-bounds index
#include "ferry.h"
#include <math.h>
#include <stdlib.h>

// From the last to the first: the place before the first, where the loop ends, is written too.
double largest_difference(FyTensor *x, FyTensor *y) {
  int64_t i = fy_numel(x);
  float *ours = malloc(fy_nbytes(x)), *theirs = malloc(fy_nbytes(y));
  double largest = 0;
  fy_copy_to_host(x, ours);
  fy_copy_to_host(y, theirs);
  do {
    i--;
    ours[i] = fabsf(ours[i] - theirs[i]);
    largest = fmax(largest, ours[i]);
  } while (i >= 0);
  free(ours);
  free(theirs);
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
