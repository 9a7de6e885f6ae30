// missing star: transfer in the forward pass
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  FyTensor *one = fy_tensor(fy_floats(1.0F), fy_shape(1), .device = fy_device_of(x));
  return fy_mul(fy_mul(s->gain, fy_sub(x, s->mean)), fy_div(one, s->std));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  return &s->base;
}
