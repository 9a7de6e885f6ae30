// SPDX-License-Identifier: MIT
// optim.SGD: with weight decay w, momentum m and dampening d,
//   g = grad + w p;   b = m b + (1 - d) g  (the first time b = g);   p = p - lr b,  or with Nesterov  p - lr (g + m b)
#include "nn/impl.h"
#include "op/op.h"
#include "op/optimizer/step.h"
#include "optim/impl.h"

static void sgd_step(FyOptimizer *self, FyParameterState *state, FyTensor *parameter, FyTensor *grad) {
  const FySgd *o = &self->sgd;
  FySgdStep params = {.lr = self->lr,
                      .momentum = o->momentum,
                      .dampening = o->dampening,
                      .weight_decay = o->weight_decay,
                      .nesterov = o->nesterov,
                      .first = !state->tensors[0]};
  if (o->momentum == 0) {
    fy_run_in_place(&fy_op_sgd_step, &params, FY_INPUTS(parameter, grad));
    return;
  }
  FyTensor *buffer = fy_optimizer_state(state, 0);
  fy_run_in_place(&fy_op_sgd_step, &params, FY_INPUTS(parameter, grad, buffer));
  fy_bump_version(buffer);
}

static const FyOptimizerClass sgd_class = {.name = "SGD", .step = sgd_step, .state_names = {"momentum_buffer"}};

FyOptimizer *fy_sgd_with(FySgd o) {
  double lr = fy_option_or(o.named, "lr", o.lr, 1e-3);
  fy_optimizer_not_negative("learning rate", lr);
  fy_optimizer_not_negative("momentum value", o.momentum);
  fy_optimizer_not_negative("weight_decay value", o.weight_decay);
  fy_check(!o.nesterov || (o.momentum > 0 && o.dampening == 0), FY_VALUE_ERROR,
           "Nesterov momentum requires a momentum and zero dampening");
  FyOptimizer *self = fy_optimizer_new(&sgd_class, o.parameters, lr);
  self->sgd = o;
  self->sgd.parameters = NULL; // the list is the caller's
  return self;
}
