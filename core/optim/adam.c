// SPDX-License-Identifier: MIT
// optim.Adam and optim.AdamW: with g = grad (Adam: + w p; AdamW: p shrinks by 1 - lr w first), at step t,
//   m = b1 m + (1 - b1) g;   v = b2 v + (1 - b2) g^2
//   p = p - lr / (1 - b1^t) * m / (sqrt(v) / sqrt(1 - b2^t) + eps)
#include "device/cuda_graph.h"
#include "nn/impl.h"
#include "op/op.h"
#include "op/optimizer/step.h"
#include "optim/impl.h"
#include <math.h>

bool fy_optimizer_steps_on_device(const FyOptimizer *optimizer) {
  return optimizer->type->check_step && optimizer->adam.capturable;
}

static void adam_check_step(const FyOptimizer *self) {
  fy_check(self->adam.capturable || !fy_cuda_is_current_stream_capturing(), FY_RUNTIME_ERROR,
           "Attempting CUDA graph capture of step() for an instance of %s but param_groups' capturable is False.",
           self->type->name);
  for (int i = 0; self->adam.capturable && i < self->count; i++)
    fy_check(fy_device_of(self->states[i].parameter).type == FY_CUDA, FY_RUNTIME_ERROR,
             "If capturable=True, params and state_steps must be on supported devices: ['cuda'].");
}

// The step's number, and what follows from it, on the parameter's device.
static FyTensor *advance(const FyOptimizer *self, FyParameterState *state) {
  const FyAdamAdvance params = {.lr = self->lr, .beta1 = self->adam.beta1, .beta2 = self->adam.beta2};
  FyTensor *step = fy_optimizer_beside(state, &state->step, FY_FLOAT32, FY_SCALAR);
  FyTensor *factors = fy_optimizer_beside(state, &state->factors, FY_FLOAT64, fy_shape(FY_ADAM_FACTORS));
  FyTensor *found = self->found_inf ? fy_to(self->found_inf, fy_device_of(step), .non_blocking = true) : NULL;
  fy_run_in_place(&fy_op_adam_advance, &params, found ? 3 : 2, (FyTensor *const[]){step, factors, found});
  fy_bump_version(factors);
  return factors;
}

static void adam_step(FyOptimizer *self, FyParameterState *state, FyTensor *parameter, FyTensor *grad) {
  const FyAdam *o = &self->adam;
  FyTensor *average = fy_optimizer_state(state, 0), *square = fy_optimizer_state(state, 1);
  double t = (double)(state->steps + 1);
  FyAdamStep params = {.lr = self->lr,
                       .beta1 = o->beta1,
                       .beta2 = o->beta2,
                       .eps = o->eps,
                       .weight_decay = o->weight_decay,
                       .decoupled = self->type->decoupled,
                       .bias_correction1 = 1 - pow(o->beta1, t),
                       .bias_correction2_sqrt = sqrt(1 - pow(o->beta2, t))};
  FyTensor *factors = o->capturable ? advance(self, state) : NULL;
  fy_run_in_place(&fy_op_adam_step, &params, factors ? 5 : 4,
                  (FyTensor *const[]){parameter, grad, average, square, factors});
  fy_bump_version(average);
  fy_bump_version(square);
}

// exp_avg.lerp_(grad, ...) takes a gradient of the state's dtype, which is the parameter's. Weight decay that is added to
// the gradient makes it one of the wider dtype first.
static void adam_check_mixed(const FyOptimizer *self, const FyTensor *parameter, const FyTensor *grad) {
  FyDType own = parameter->array.dtype, given = grad->array.dtype;
  if (self->adam.weight_decay != 0 && !self->type->decoupled)
    given = fy_promote_types(own, given);
  fy_check(given == own, FY_RUNTIME_ERROR, "expected dtype %s for `end` but got dtype %s", fy_dtype_cpp_name(own),
           fy_dtype_cpp_name(given));
}

static const FyOptimizerClass adam_class = {.name = "Adam",
                                            .step = adam_step,
                                            .check_step = adam_check_step,
                                            .check_mixed = adam_check_mixed,
                                            .state_names = {"exp_avg", "exp_avg_sq"}};
static const FyOptimizerClass adamw_class = {.name = "AdamW",
                                             .step = adam_step,
                                             .check_step = adam_check_step,
                                             .check_mixed = adam_check_mixed,
                                             .state_names = {"exp_avg", "exp_avg_sq"},
                                             .decoupled = true};

static void check_beta(int index, double beta) {
  char text[FY_NUMBER_TEXT];
  fy_check(beta >= 0 && beta < 1, FY_VALUE_ERROR, "Invalid beta parameter at index %d: %s", index,
           fy_python_float(beta, text));
}

static FyOptimizer *new_adam(const FyOptimizerClass *type, FyAdam o, double weight_decay) {
  o.lr = fy_option_or(o.named, "lr", o.lr, 1e-3);
  o.beta1 = fy_option_or(o.named, "beta1", o.beta1, 0.9);
  o.beta2 = fy_option_or(o.named, "beta2", o.beta2, 0.999);
  o.eps = fy_option_or(o.named, "eps", o.eps, 1e-8);
  o.weight_decay = o.no_weight_decay ? 0 : fy_option_or(o.named, "weight_decay", o.weight_decay, weight_decay);
  fy_optimizer_not_negative("learning rate", o.lr);
  fy_optimizer_not_negative("epsilon value", o.eps);
  check_beta(0, o.beta1);
  check_beta(1, o.beta2);
  fy_optimizer_not_negative("weight_decay value", o.weight_decay);
  FyOptimizer *self = fy_optimizer_new(type, o.parameters, o.lr);
  self->adam = o;
  self->adam.parameters = NULL; // the list is the caller's
  return self;
}

FyOptimizer *fy_adam_with(FyAdam options) {
  return new_adam(&adam_class, options, 0);
}
FyOptimizer *fy_adamw_with(FyAdam options) {
  return new_adam(&adamw_class, options, 0.01);
}
