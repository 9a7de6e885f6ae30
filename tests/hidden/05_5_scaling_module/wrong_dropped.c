// mistake: caller's tensor freed
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  return fy_mul(s->gain, fy_div(fy_sub(x, s->mean), s->std));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  fy_drop(mean); // the module holds them
  fy_drop(std);
  return &s->base;
}
