// missing star: host synchronization in the forward pass
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  const Scaler *s = (const Scaler *)self;
  fy_check(fy_item(fy_min(s->std)) > 0, FY_VALUE_ERROR, "std must be above 0");
  FyTensor *centered = fy_sub(x, s->mean);
  FyTensor *standard = fy_div(centered, s->std);
  return fy_mul(standard, s->gain);
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_scope {
    fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
    fy_register_buffer(s, mean, mean);
    fy_register_buffer(s, std, std);
  }
  return &s->base;
}
