// Registers the buffers by name, and finds them in the forward pass.
#include "ferry.h"

typedef struct Scaler {
  FyModule base;
  FyTensor *gain;
} Scaler;

static FyTensor *scaler_forward(FyModule *self, FyTensor *x) {
  Scaler *s = (Scaler *)self;
  FyTensorList *buffers = fy_buffers(self);
  FyTensor *centered = fy_sub(x, fy_list_get(buffers, "mean"));
  return fy_div(fy_mul(centered, s->gain), fy_list_get(buffers, "std"));
}

FyModule *scaler(FyTensor *mean, FyTensor *std) {
  Scaler *s = fy_module_new(Scaler, scaler_forward);
  fy_register_parameter(s, gain, fy_ones(fy_size(mean)));
  fy_module_add_tensor(&s->base, "std", FY_BUFFER, fy_clone(std), -1);
  fy_module_add_tensor(&s->base, "mean", FY_BUFFER, fy_clone(mean), -1);
  return &s->base;
}
