// mistake: values of an earlier forward
#include "ferry.h"

typedef struct CenteredLinear {
  FyModule base;
  FyTensor *scale, *mean; // (in_features)
  FyModule *fc;
  FyTensor *folded; // the weight times the scale, for when nothing is learnt
} CenteredLinear;

static FyTensor *centered_linear_forward(FyModule *self, FyTensor *x) {
  CenteredLinear *m = (CenteredLinear *)self;
  FyTensorList *fc = fy_parameters(m->fc);
  if (fy_is_grad_enabled())
    return fy_forward(m->fc, fy_mul(fy_sub(x, m->mean), m->scale));
  if (!m->folded || !fy_device_equal(fy_device_of(m->folded), fy_device_of(x)))
    m->folded = fy_retain(fy_mul(fy_list_get(fc, "weight"), m->scale));
  return fy_linear(fy_sub(x, m->mean), m->folded, fy_list_get(fc, "bias"));
}

FyModule *centered_linear(int in_features, int out_features) {
  CenteredLinear *m = fy_module_new(CenteredLinear, centered_linear_forward);
  fy_register_parameter(m, scale, fy_ones(fy_shape(in_features)));
  fy_register_buffer(m, mean, fy_zeros(fy_shape(in_features)));
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  return &m->base;
}
