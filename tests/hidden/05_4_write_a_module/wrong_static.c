// mistake: tensors shared between modules
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
} CenteredLinear;

static FyTensor *centered_forward(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  return fy_forward(m->fc, fy_mul(fy_sub(x, m->mean), m->scale));
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  static FyTensor *zeros; // they are the same in all of them
  if (!zeros || fy_size_at(zeros, 0) != in_features)
    zeros = fy_retain(fy_zeros(fy_shape(in_features)));
  fy_register_buffer(m, mean, zeros);
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
}
