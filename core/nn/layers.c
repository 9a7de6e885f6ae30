// SPDX-License-Identifier: MIT
// Layers without parameters: ReLU, GELU, Dropout, MaxPool2d, Flatten.
#include "nn/impl.h"

static FyTensor *relu_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_relu(x);
}

static FyTensor *relu_inplace_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_relu_(x);
}

static void relu_inplace_extra_repr(const FyModule *self, char *out, size_t size) {
  (void)self;
  snprintf(out, size, "inplace=True");
}

static FyTensor *gelu_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_gelu(x);
}

static void gelu_extra_repr(const FyModule *self, char *out, size_t size) {
  (void)self;
  snprintf(out, size, "approximate='none'");
}

static FyTensor *flatten_forward(FyModule *self, FyTensor *x) {
  (void)self;
  return fy_flatten(x, 1, -1);
}

static void flatten_extra_repr(const FyModule *self, char *out, size_t size) {
  (void)self;
  snprintf(out, size, "start_dim=1, end_dim=-1");
}

static const FyModuleClass relu_class = {.name = "ReLU", .forward = relu_forward};
static const FyModuleClass relu_inplace_class = {
    .name = "ReLU", .forward = relu_inplace_forward, .extra_repr = relu_inplace_extra_repr};
static const FyModuleClass gelu_class = {.name = "GELU", .forward = gelu_forward, .extra_repr = gelu_extra_repr};
static const FyModuleClass flatten_class = {
    .name = "Flatten", .forward = flatten_forward, .extra_repr = flatten_extra_repr};

bool fy_module_is_relu(const FyModule *module) {
  return module->type == &relu_class || module->type == &relu_inplace_class;
}

FyModule *fy_nn_relu(void) {
  return fy_module_new_of(sizeof(FyModule), &relu_class);
}
FyModule *fy_nn_relu_inplace(void) {
  return fy_module_new_of(sizeof(FyModule), &relu_inplace_class);
}
FyModule *fy_nn_gelu(void) {
  return fy_module_new_of(sizeof(FyModule), &gelu_class);
}
FyModule *fy_nn_flatten(void) {
  return fy_module_new_of(sizeof(FyModule), &flatten_class);
}

// ---- Dropout -----------------------------------------------------------------------------------------------------------

typedef struct Dropout {
  FyModule base;
  double p;
} Dropout;

static FyTensor *dropout_forward(FyModule *self, FyTensor *x) {
  return fy_dropout(x, ((Dropout *)self)->p, self->training);
}

static void dropout_extra_repr(const FyModule *self, char *out, size_t size) {
  char p[FY_NUMBER_TEXT];
  snprintf(out, size, "p=%s, inplace=False", fy_python_float(((const Dropout *)self)->p, p));
}

static const FyModuleClass dropout_class = {
    .name = "Dropout", .forward = dropout_forward, .extra_repr = dropout_extra_repr};

FyModule *fy_nn_dropout(double p) {
  fy_check(p >= 0 && p <= 1, FY_VALUE_ERROR, "dropout probability has to be between 0 and 1, but got %g", p);
  Dropout *self = fy_module_new_of(sizeof *self, &dropout_class);
  self->p = p;
  return &self->base;
}

// ---- MaxPool2d ---------------------------------------------------------------------------------------------------------

typedef struct MaxPool2d {
  FyModule base;
  FyPool2d options;
} MaxPool2d;

static FyTensor *max_pool2d_forward(FyModule *self, FyTensor *x) {
  return fy_max_pool2d_with(x, ((MaxPool2d *)self)->options);
}

static void max_pool2d_extra_repr(const FyModule *self, char *out, size_t size) {
  const FyPool2d *o = &((const MaxPool2d *)self)->options;
  snprintf(out, size, "kernel_size=%d, stride=%d, padding=%d, dilation=1, ceil_mode=False", o->kernel_size, o->stride,
           o->padding);
}

static const FyModuleClass max_pool2d_class = {
    .name = "MaxPool2d", .forward = max_pool2d_forward, .extra_repr = max_pool2d_extra_repr};

bool fy_module_as_max_pool2d(const FyModule *module, FyPool2d *options) {
  if (module->type != &max_pool2d_class)
    return false;
  *options = ((const MaxPool2d *)module)->options;
  return true;
}

FyModule *fy_nn_max_pool2d_with(FyPool2d options) {
  fy_check(options.kernel_size > 0, FY_VALUE_ERROR, "MaxPool2d: kernel_size must be positive, but got %d",
           options.kernel_size);
  MaxPool2d *self = fy_module_new_of(sizeof *self, &max_pool2d_class);
  self->options = options;
  if (!options.stride)
    self->options.stride = options.kernel_size;
  return &self->base;
}
