// mistake: caller's tensor changed
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  fy_no_grad {
    fy_div_(fy_sub_(x, s->mean), s->std);
  }
  return fy_mul(s->gain, x);
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_register_buffer(s, mean, mean);
  fy_register_buffer(s, std, std);
  return &s->base;
}
