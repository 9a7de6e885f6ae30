// mistake: a constant in place of the result
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std;
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_zeros_like(x);
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  return &s->base;
}
