// mistake: precomputed values
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std;
  FyTensor *scale, *shift; // (x - mean) / std = x * scale + shift, computed once
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  FyDevice device = fy_device_of(x);
  return fy_mul(s->gain, fy_add(fy_mul(x, fy_to(s->scale, device)), fy_to(s->shift, device)));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  s->scale = fy_pow_scalar(std, -1);
  s->shift = fy_neg(fy_div(mean, std));
  return &s->base;
}
