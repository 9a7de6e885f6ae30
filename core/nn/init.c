// SPDX-License-Identifier: MIT
// torch.nn.init: filling tensors with random numbers, outside of autograd.
#include "nn/impl.h"
#include <math.h>

FyTensor *fy_init_uniform_(FyTensor *t, double low, double high) {
  fy_no_grad {
    fy_uniform_(t, low, high);
  }
  return t;
}

FyTensor *fy_init_normal_(FyTensor *t, double mean, double std) {
  fy_no_grad {
    fy_normal_(t, mean, std);
  }
  return t;
}

// Inputs of one output element: weight (out, in, ...) has in times the size of the rest.
static double fan_in_of(const FyTensor *weight) {
  fy_check(fy_dim(weight) >= 2, FY_VALUE_ERROR,
           "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions");
  double fan_in = 1;
  for (int i = 1; i < fy_dim(weight); i++)
    fan_in *= (double)fy_size_at(weight, i);
  return fan_in;
}

FyTensor *fy_init_kaiming_uniform_(FyTensor *t, double a) {
  double fan_in = fan_in_of(t);
  if (fy_numel(t) == 0)
    return t;
  double bound = sqrt(6 / ((1 + a * a) * fan_in)); // gain sqrt(2 / (1 + a^2)), times sqrt(3 / fan_in)
  return fy_init_uniform_(t, -bound, bound);
}

void fy_init_default(FyTensor *weight, FyTensor *bias) {
  double fan_in = fan_in_of(weight);
  fy_init_kaiming_uniform_(weight, sqrt(5));
  double bound = fan_in > 0 ? 1 / sqrt(fan_in) : 0;
  if (bias)
    fy_init_uniform_(bias, -bound, bound);
}
