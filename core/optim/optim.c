// SPDX-License-Identifier: MIT
// What all optimizers have in common: parameters, their state, and the loop of a step.
#include "base/watch.h"
#include "nn/impl.h"
#include "optim/impl.h"
#include "tensor/impl.h"
#include <stdlib.h>

static void destroy_optimizer(void *object) {
  FyOptimizer *self = object;
  for (int i = 0; i < self->count; i++) {
    fy_release(self->states[i].parameter);
    for (int k = 0; k < FY_MAX_STATES; k++)
      fy_release(self->states[i].tensors[k]);
    fy_release(self->states[i].step);
    fy_release(self->states[i].factors);
  }
  free(self->states);
  free(self);
}

void fy_optimizer_not_negative(const char *what, double value) {
  char text[FY_NUMBER_TEXT];
  fy_check(value >= 0, FY_VALUE_ERROR, "Invalid %s: %s", what, fy_python_float(value, text)); // NaN, too
}

FyOptimizer *fy_optimizer_new(const FyOptimizerClass *type, const FyTensorList *parameters, double lr) {
  fy_check(parameters && parameters->count > 0, FY_VALUE_ERROR, "optimizer got an empty parameter list");
  for (int i = 0; i < parameters->count; i++)
    fy_check(fy_is_leaf(parameters->items[i]), FY_VALUE_ERROR, "can't optimize a non-leaf Tensor");
  FyOptimizer *self = fy_object_new(sizeof *self, destroy_optimizer);
  self->type = type;
  self->lr = lr;
  self->states = calloc((size_t)parameters->count, sizeof *self->states);
  fy_check(self->states, FY_OUT_OF_MEMORY_ERROR, "out of host memory for an optimizer of %d parameters",
           parameters->count);
  self->count = parameters->count;
  for (int i = 0; i < self->count; i++)
    self->states[i].parameter = fy_retain(parameters->items[i]);
  return self;
}

static FyDType state_dtype(const FyTensor *parameter) {
  return parameter->array.dtype == FY_FLOAT64 ? FY_FLOAT64 : FY_FLOAT32;
}

FyTensor *fy_optimizer_state(FyParameterState *state, int k) {
  const FyTensor *p = state->parameter;
  FyTensor *old = state->tensors[k];
  FyDType dtype = state_dtype(p);
  if (old && fy_device_equal(old->device, p->device) && old->array.dtype == dtype)
    return old;
  FyTensor *fresh =
      old ? fy_to(old, p->device, .dtype = dtype) : fy_zeros(fy_size(p), .dtype = dtype, .device = p->device);
  state->tensors[k] = fy_retain(fresh);
  fy_release(old);
  return fresh;
}

FyTensor *fy_optimizer_beside(FyParameterState *state, FyTensor **tensor, FyDType dtype, FySize shape) {
  FyTensor *old = *tensor;
  if (old && fy_device_equal(old->device, state->parameter->device))
    return old;
  FyTensor *fresh =
      old ? fy_to(old, state->parameter->device) : fy_zeros(shape, .dtype = dtype, .device = state->parameter->device);
  *tensor = fy_retain(fresh);
  fy_release(old);
  return fresh;
}

// The kernels take row-major memory of one dtype: other parameters are updated in a copy, and copied back. A gradient has
// another dtype than its parameter when the module was converted between forward and backward.
static void step_one(FyOptimizer *self, FyParameterState *state) {
  FyTensor *parameter = state->parameter, *grad = parameter->grad;
  FyTensor *target = parameter;
  if (grad->array.dtype != parameter->array.dtype) {
    if (self->type->check_mixed)
      self->type->check_mixed(self, parameter, grad);
    target = fy_to_dtype(parameter, state_dtype(parameter));
    grad = fy_to_dtype(grad, state_dtype(parameter));
  }
  target = fy_contiguous(target);
  self->type->step(self, state, target, fy_contiguous(grad));
  state->steps++;
  if (target != parameter)
    fy_copy_(parameter, target);
}

void fy_step(FyOptimizer *optimizer) {
  fy_check(optimizer, FY_TYPE_ERROR, "fy_step: the optimizer is NULL");
  if (optimizer->type->check_step)
    optimizer->type->check_step(optimizer);
  const bool watched = fy_range_open(FY_RANGE_LIBRARY, "Optimizer.step");
  fy_no_grad {
    for (int i = 0; i < optimizer->count; i++) {
      if (!optimizer->states[i].parameter->grad)
        continue;
      fy_scope {
        step_one(optimizer, &optimizer->states[i]);
      }
    }
  }
  fy_range_close(watched);
}

void fy_zero_grad(FyOptimizer *optimizer) {
  fy_check(optimizer, FY_TYPE_ERROR, "fy_zero_grad: the optimizer is NULL");
  const bool watched = fy_range_open(FY_RANGE_LIBRARY, "Optimizer.zero_grad");
  for (int i = 0; i < optimizer->count; i++)
    fy_set_grad(optimizer->states[i].parameter, NULL);
  fy_range_close(watched);
}

double fy_learning_rate(const FyOptimizer *optimizer) {
  return optimizer->lr;
}

void fy_set_learning_rate(FyOptimizer *optimizer, double lr) {
  fy_optimizer_not_negative("learning rate", lr);
  optimizer->lr = lr;
}
