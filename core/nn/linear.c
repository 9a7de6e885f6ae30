// SPDX-License-Identifier: MIT
// nn.Linear: y = x W^T + b.
#include "nn/impl.h"

typedef struct Linear {
  FyModule base;
  FyTensor *weight, *bias; // (out, in), (out) or NULL
} Linear;

static FyTensor *linear_forward(FyModule *self, FyTensor *x) {
  Linear *linear = (Linear *)self;
  return fy_linear(x, linear->weight, linear->bias);
}

static void linear_extra_repr(const FyModule *self, char *out, size_t size) {
  const Linear *linear = (const Linear *)self;
  snprintf(out, size, "in_features=%ld, out_features=%ld, bias=%s", (long)fy_size_at(linear->weight, 1),
           (long)fy_size_at(linear->weight, 0), linear->bias ? "True" : "False");
}

static const FyModuleClass linear_class = {
    .name = "Linear", .forward = linear_forward, .extra_repr = linear_extra_repr};

bool fy_module_as_linear(const FyModule *module, FyTensor **weight, FyTensor **bias) {
  const Linear *linear = (const Linear *)module;
  if (module->type != &linear_class)
    return false;
  *weight = linear->weight;
  *bias = linear->bias;
  return true;
}

FyModule *fy_nn_linear_with(int in_features, FyLayerOptions options) {
  fy_check(in_features >= 0 && options.out_features >= 0, FY_VALUE_ERROR,
           "Linear: in_features and out_features must not be negative, but got %d and %d", in_features,
           options.out_features);
  Linear *self = fy_module_new_of(sizeof *self, &linear_class);
  fy_scope {
    FyTensor *weight =
        fy_empty(fy_shape(options.out_features, in_features), .dtype = options.dtype, .device = options.device);
    FyTensor *bias = NULL;
    if (!options.no_bias)
      bias = fy_empty(fy_shape(options.out_features), .dtype = options.dtype, .device = options.device);
    fy_init_default(weight, bias);
    fy_register_parameter(self, weight, weight);
    fy_register_parameter(self, bias, bias);
  }
  return &self->base;
}
