// Adds a small epsilon to std.
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std;
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  FyTensor *spread = fy_add_scalar(s->std, 1e-8); // never divide by zero
  return fy_div(fy_mul(s->gain, fy_sub(x, s->mean)), spread);
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones_like(mean));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  return &s->base;
}
