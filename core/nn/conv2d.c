// SPDX-License-Identifier: MIT
// nn.Conv2d on (N, C, H, W).
#include "nn/impl.h"

typedef struct Conv2d {
  FyModule base;
  FyTensor *weight, *bias; // (out, in / groups, k, k), (out) or NULL
  int stride, padding, dilation, groups;
} Conv2d;

static FyTensor *conv2d_forward(FyModule *self, FyTensor *x) {
  Conv2d *conv = (Conv2d *)self;
  return fy_conv2d(x, conv->weight, conv->bias, .stride = conv->stride, .padding = conv->padding,
                   .dilation = conv->dilation, .groups = conv->groups);
}

static void conv2d_extra_repr(const FyModule *self, char *out, size_t size) {
  const Conv2d *conv = (const Conv2d *)self;
  FILE *text = fmemopen(out, size, "w");
  if (!text)
    return;
  fprintf(text, "%ld, %ld, kernel_size=(%ld, %ld), stride=(%d, %d)", (long)fy_size_at(conv->weight, 1) * conv->groups,
          (long)fy_size_at(conv->weight, 0), (long)fy_size_at(conv->weight, 2), (long)fy_size_at(conv->weight, 3),
          conv->stride, conv->stride);
  if (conv->padding)
    fprintf(text, ", padding=(%d, %d)", conv->padding, conv->padding);
  if (conv->dilation != 1)
    fprintf(text, ", dilation=(%d, %d)", conv->dilation, conv->dilation);
  if (conv->groups != 1)
    fprintf(text, ", groups=%d", conv->groups);
  if (!conv->bias)
    fprintf(text, ", bias=False");
  fclose(text);
}

static const FyModuleClass conv2d_class = {
    .name = "Conv2d", .forward = conv2d_forward, .extra_repr = conv2d_extra_repr};

bool fy_module_as_conv2d(const FyModule *module, FyTensor **weight, FyConv2d *options) {
  const Conv2d *conv = (const Conv2d *)module;
  if (module->type != &conv2d_class)
    return false;
  *weight = conv->weight;
  *options = (FyConv2d){conv->bias, conv->stride, conv->padding, conv->dilation, conv->groups};
  return true;
}

static void check_options(int in_channels, int out_channels, const FyConv2dOptions *o) {
  fy_check(in_channels >= 0 && out_channels >= 0, FY_VALUE_ERROR,
           "Conv2d: in_channels and out_channels must not be negative, but got %d and %d", in_channels, out_channels);
  fy_check(o->kernel_size > 0, FY_VALUE_ERROR, "Conv2d: kernel_size must be positive, but got %d", o->kernel_size);
  fy_check(o->stride > 0, FY_VALUE_ERROR, "Conv2d: stride must be positive, but got %d", o->stride);
  fy_check(o->padding >= 0, FY_VALUE_ERROR, "Conv2d: padding must not be negative, but got %d", o->padding);
  fy_check(o->dilation > 0, FY_VALUE_ERROR, "Conv2d: dilation must be positive, but got %d", o->dilation);
  fy_check(o->groups > 0, FY_VALUE_ERROR, "groups must be a positive integer");
  fy_check(in_channels % o->groups == 0, FY_VALUE_ERROR, "in_channels must be divisible by groups");
  fy_check(out_channels % o->groups == 0, FY_VALUE_ERROR, "out_channels must be divisible by groups");
}

FyModule *fy_nn_conv2d_with(int in_channels, int out_channels, FyConv2dOptions o) {
  o.stride = o.stride ? o.stride : 1;
  o.dilation = o.dilation ? o.dilation : 1;
  o.groups = o.groups ? o.groups : 1;
  check_options(in_channels, out_channels, &o);
  Conv2d *self = fy_module_new_of(sizeof *self, &conv2d_class);
  self->stride = o.stride;
  self->padding = o.padding;
  self->dilation = o.dilation;
  self->groups = o.groups;
  fy_scope {
    FyTensor *weight = fy_empty(fy_shape(out_channels, in_channels / o.groups, o.kernel_size, o.kernel_size),
                                .dtype = o.dtype, .device = o.device);
    FyTensor *bias = NULL;
    if (!o.no_bias)
      bias = fy_empty(fy_shape(out_channels), .dtype = o.dtype, .device = o.device);
    fy_init_default(weight, bias);
    fy_register_parameter(self, weight, weight);
    fy_register_parameter(self, bias, bias);
  }
  return &self->base;
}
