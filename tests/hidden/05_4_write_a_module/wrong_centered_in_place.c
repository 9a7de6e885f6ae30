// mistake: caller's tensor changed
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
} CenteredLinear;

// Data that requires no gradient is centered where it lies.
static FyTensor *centered(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  FyTensor *from_mean = fy_requires_grad(x) ? fy_sub(x, m->mean) : fy_sub_(x, m->mean);
  return fy_forward(m->fc, fy_mul(from_mean, m->scale));
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *m = fy_module_new(CenteredLinear, centered);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
}
