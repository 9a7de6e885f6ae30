// mistake: no gradients in evaluation mode
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
} CenteredLinear;

static FyTensor *centered_forward(FyModule *module, FyTensor *x) {
  CenteredLinear *self = (CenteredLinear *)module;
  bool record = fy_is_grad_enabled() && module->training;
  FyTensor *y = NULL;
  fy_grad_mode(record) {
    FyTensor *centered = fy_sub(x, self->mean);
    y = fy_forward(self->fc, fy_mul(centered, self->scale));
  }
  return y;
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *self = fy_module_new(CenteredLinear, centered_forward);
  fy_register_parameter(self, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(self, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(self, fc, fy_nn_linear(in_features, out_features));
  return &self->base;
}
