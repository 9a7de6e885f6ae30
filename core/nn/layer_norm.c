// SPDX-License-Identifier: MIT
// nn.LayerNorm: normalization over the last dimensions.
#include "nn/impl.h"

typedef struct LayerNorm {
  FyModule base;
  FyTensor *weight, *bias; // (normalized_shape), or NULL with no_affine or no_bias
  FySize normalized_shape;
  double eps;
} LayerNorm;

static FyTensor *layer_norm_forward(FyModule *self, FyTensor *x) {
  LayerNorm *norm = (LayerNorm *)self;
  return fy_layer_norm(x, norm->normalized_shape, norm->weight, norm->bias, norm->eps);
}

// LayerNorm((4,), ...) and LayerNorm((3, 4), ...), as Python writes tuples.
static void layer_norm_extra_repr(const FyModule *self, char *out, size_t size) {
  const LayerNorm *norm = (const LayerNorm *)self;
  const FySize *shape = &norm->normalized_shape;
  char eps[FY_NUMBER_TEXT];
  size_t at = (size_t)snprintf(out, size, "(");
  for (int d = 0; d < shape->ndim && at < size; d++)
    at += (size_t)snprintf(out + at, size - at, d ? ", %lld" : "%lld", (long long)shape->dim[d]);
  if (at < size)
    snprintf(out + at, size - at, "%s), eps=%s, elementwise_affine=%s, bias=%s", shape->ndim == 1 ? "," : "",
             fy_python_float(norm->eps, eps), norm->weight ? "True" : "False", norm->bias ? "True" : "False");
}

static const FyModuleClass layer_norm_class = {
    .name = "LayerNorm", .forward = layer_norm_forward, .extra_repr = layer_norm_extra_repr};

FyModule *fy_nn_layer_norm_with(FyLayerNormOptions o) {
  LayerNorm *self = fy_module_new_of(sizeof *self, &layer_norm_class);
  self->normalized_shape = o.normalized_shape;
  self->eps = fy_option_or(o.named, "eps", o.eps, 1e-5);
  fy_scope {
    FyTensor *weight = NULL, *bias = NULL;
    if (!o.no_affine)
      weight = fy_ones(o.normalized_shape, .dtype = o.dtype, .device = o.device);
    if (!o.no_affine && !o.no_bias)
      bias = fy_zeros(o.normalized_shape, .dtype = o.dtype, .device = o.device);
    fy_register_parameter(self, weight, weight);
    fy_register_parameter(self, bias, bias);
  }
  return &self->base;
}
