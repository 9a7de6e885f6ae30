// mistake: wrong name in the state dict
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mu, *sigma;
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  return fy_mul(s->gain, fy_div(fy_sub(x, s->mu), s->sigma));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mu, mean);
  fy_register_buffer(s, sigma, std);
  return &s->base;
}
