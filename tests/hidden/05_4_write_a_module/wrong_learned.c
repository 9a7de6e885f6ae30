// mistake: buffer registered as a parameter
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean;
  FyModule *fc;
} CenteredLinear;

static FyTensor *centered_linear_forward(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  return fy_forward(m->fc, fy_mul(fy_sub(x, m->mean), m->scale));
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_linear_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_parameter(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
}
