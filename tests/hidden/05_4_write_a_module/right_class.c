// A static class, and tensors that are registered by name.
#include "ferry.h"

typedef struct Centered {
  FyModule base;
  FyModule *fc;
} Centered;

static FyTensor *forward(FyModule *self, FyTensor *x) {
  FyTensor *scale = fy_list_get(fy_parameters(self), "scale");
  FyTensor *mean = fy_buffers(self)->items[0];
  return fy_forward(((Centered *)self)->fc, fy_sub(fy_mul(x, scale), fy_mul(mean, scale)));
}

static const FyModuleClass class = {.name = "CenteredLinear", .forward = forward};

FyModule *centered_linear(int in_features, int out_features) {
  Centered *m = fy_module_new_of(sizeof *m, &class);
  fy_register_module(m, fc, fy_nn_linear(in_features, out_features));
  fy_module_add_tensor(&m->base, "mean", FY_BUFFER, fy_full(0, fy_shape(in_features)), -1);
  fy_module_add_tensor(&m->base, "scale", FY_PARAMETER, fy_full(1, fy_shape(in_features)), -1);
  return &m->base;
}
