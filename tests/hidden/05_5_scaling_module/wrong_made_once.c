// mistake: precomputed values
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
  FyTensor *slope;             // gain apart, what the input is multiplied by; made when it is first needed
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  if (!s->slope)
    s->slope = fy_retain(fy_div(fy_ones_like(s->std), s->std));
  return fy_mul(s->gain, fy_mul(fy_sub(x, s->mean), s->slope));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  return &s->base;
}
