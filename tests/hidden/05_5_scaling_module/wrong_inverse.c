// mistake: 1 / std stored as std
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain, *mean, *std; // (features) each
} Scaler;

static FyTensor *standardized(FyModule *self, FyTensor *x) {
  Scaler *m = (Scaler *)self;
  FyTensor *centered = fy_sub(x, m->mean);
  return fy_mul(fy_mul(centered, m->std), m->gain); // a product is faster than a quotient
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *m = fy_module_new(Scaler, standardized);
  fy_register_parameter(m, gain, fy_ones(fy_size(std)));
  fy_register_buffer(m, mean, mean);
  fy_register_buffer(m, std, fy_div(fy_ones(fy_size(std)), std));
  return &m->base;
}
