// Folds scale and mean into the weight and the bias of the layer.
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
} CenteredLinear;

static FyTensor *centered_linear_forward(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  FyTensorList *fc = fy_parameters(m->fc);
  FyTensor *weight = fy_mul(fy_list_get(fc, "weight"), m->scale);
  FyTensor *bias = fy_sub(fy_list_get(fc, "bias"), fy_sum_dim(fy_mul(weight, m->mean), 1, false));
  return fy_linear(x, weight, bias);
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_linear_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
}
