// Adds the negative mean, and calls fy_linear with the weight and the bias.
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
} CenteredLinear;

static FyTensor *centered_linear_forward(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  FyTensor *centered = fy_mul(m->scale, fy_add(x, fy_neg(m->mean)));
  FyTensorList *fc = fy_parameters(m->fc);
  return fy_linear(centered, fc->items[0], fc->items[1]);
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_linear_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
}
