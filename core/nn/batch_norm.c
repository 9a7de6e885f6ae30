// SPDX-License-Identifier: MIT
// nn.BatchNorm1d and nn.BatchNorm2d: normalization over all dimensions but the second, with running statistics.
#include "nn/impl.h"

typedef struct BatchNorm {
  FyModule base;
  FyTensor *weight, *bias;              // (C), or NULL with no_affine
  FyTensor *running_mean, *running_var; // (C)
  FyTensor *num_batches_tracked;        // (), int64
  int dims;                             // 1 or 2, as in the class's name
  int num_features;
  double eps, momentum;
} BatchNorm;

static void check_input(const BatchNorm *norm, const FyTensor *x) {
  int ndim = fy_dim(x);
  if (norm->dims == 1)
    fy_check(ndim == 2 || ndim == 3, FY_VALUE_ERROR, "expected 2D or 3D input (got %dD input)", ndim);
  else
    fy_check(ndim == 4, FY_VALUE_ERROR, "expected 4D input (got %dD input)", ndim);
}

static FyTensor *batch_norm_forward(FyModule *self, FyTensor *x) {
  BatchNorm *norm = (BatchNorm *)self;
  check_input(norm, x);
  bool with_length = fy_dim(x) == 3; // (N, C, L) goes through the op as (N, C, L, 1)
  if (self->training)
    fy_add_scalar_(norm->num_batches_tracked, 1);
  FyTensor *y = fy_batch_norm(with_length ? fy_unsqueeze(x, -1) : x, norm->running_mean, norm->running_var,
                              norm->weight, norm->bias, self->training, norm->momentum, norm->eps);
  return with_length ? fy_squeeze_dim(y, -1) : y;
}

static void batch_norm_extra_repr(const FyModule *self, char *out, size_t size) {
  const BatchNorm *norm = (const BatchNorm *)self;
  char eps[FY_NUMBER_TEXT], momentum[FY_NUMBER_TEXT];
  snprintf(out, size, "%d, eps=%s, momentum=%s, affine=%s, track_running_stats=True", norm->num_features,
           fy_python_float(norm->eps, eps), fy_python_float(norm->momentum, momentum), norm->weight ? "True" : "False");
}

static const FyModuleClass batch_norm1d_class = {
    .name = "BatchNorm1d", .forward = batch_norm_forward, .extra_repr = batch_norm_extra_repr};
static const FyModuleClass batch_norm2d_class = {
    .name = "BatchNorm2d", .forward = batch_norm_forward, .extra_repr = batch_norm_extra_repr};

static void register_affine(BatchNorm *self, const FyBatchNormOptions *o) {
  FySize size = fy_shape(o->num_features);
  FyTensor *weight = NULL, *bias = NULL;
  if (!o->no_affine) {
    weight = fy_ones(size, .dtype = o->dtype, .device = o->device);
    bias = fy_zeros(size, .dtype = o->dtype, .device = o->device);
  }
  fy_register_parameter(self, weight, weight);
  fy_register_parameter(self, bias, bias);
}

FyModule *fy_nn_batch_norm_with(int dims, FyBatchNormOptions o) {
  fy_check(dims == 1 || dims == 2, FY_VALUE_ERROR, "BatchNorm is there for 1 and 2 dimensions, but got %d", dims);
  fy_check(o.num_features >= 0, FY_VALUE_ERROR, "BatchNorm%dd: num_features must not be negative, but got %d", dims,
           o.num_features);
  BatchNorm *self = fy_module_new_of(sizeof *self, dims == 1 ? &batch_norm1d_class : &batch_norm2d_class);
  self->dims = dims;
  self->num_features = o.num_features;
  self->eps = fy_option_or(o.named, "eps", o.eps, 1e-5);
  self->momentum = fy_option_or(o.named, "momentum", o.momentum, 0.1);
  fy_scope {
    FySize size = fy_shape(o.num_features);
    register_affine(self, &o);
    fy_register_buffer(self, running_mean, fy_zeros(size, .dtype = o.dtype, .device = o.device));
    fy_register_buffer(self, running_var, fy_ones(size, .dtype = o.dtype, .device = o.device));
    fy_register_buffer(self, num_batches_tracked, fy_zeros(FY_SCALAR, .dtype = FY_INT64, .device = o.device));
  }
  return &self->base;
}
