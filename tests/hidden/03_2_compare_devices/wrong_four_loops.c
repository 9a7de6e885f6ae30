// mistake: written for a few dimensions
#include "ferry.h"
#include <math.h>

double largest_difference(FyTensor *x, FyTensor *y) {
  double largest = 0;
  fy_scope {
    FyTensor *there = fy_cpu(fy_detach(y)), *here = fy_detach(x);
    int64_t size[4] = {1, 1, 1, 1}, sx[4] = {0}, sy[4] = {0};
    for (int d = 0; d < fy_dim(x) && d < 4; d++) {
      size[d] = fy_size_at(x, d);
      sx[d] = fy_stride_at(here, d);
      sy[d] = fy_stride_at(there, d);
    }
    const float *p = fy_data_ptr(here), *q = fy_data_ptr(there);
    if (fy_numel(x) > 0)
      for (int64_t i = 0; i < size[0]; i++)
        for (int64_t j = 0; j < size[1]; j++)
          for (int64_t k = 0; k < size[2]; k++)
            for (int64_t l = 0; l < size[3]; l++) {
              float difference = fabsf(p[i * sx[0] + j * sx[1] + k * sx[2] + l * sx[3]] -
                                       q[i * sy[0] + j * sy[1] + k * sy[2] + l * sy[3]]);
              if (difference > largest)
                largest = difference;
            }
  }
  return largest;
}

double compare_products(FyTensor *a, FyTensor *b, FyDevice device, FyTensor **on_cpu, FyTensor **on_device) {
  *on_cpu = fy_matmul(a, b);
  *on_device = fy_matmul(fy_to(a, device), fy_to(b, device));
  return largest_difference(*on_cpu, *on_device);
}
