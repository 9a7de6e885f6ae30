// mistake: unregistered tensor in the forward pass
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std;
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  return fy_mul(s->gain, fy_div(fy_sub(x, s->mean), s->std));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_module_add_tensor(&s->base, "mean", FY_BUFFER, fy_clone(mean), -1);
  fy_module_add_tensor(&s->base, "std", FY_BUFFER, fy_clone(std), -1);
  s->mean = mean;
  s->std = std;
  return &s->base;
}
