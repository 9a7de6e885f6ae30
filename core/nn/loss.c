// SPDX-License-Identifier: MIT
// nn.CrossEntropyLoss and nn.MSELoss: modules of two arguments, called through fy_loss.
#include "nn/impl.h"

static FyTensor *loss_forward(FyModule *self, FyTensor *input) {
  (void)input;
  fy_raise(FY_TYPE_ERROR,
           "%s.forward() missing 1 required positional argument: 'target'. Call fy_loss(criterion, input, target).",
           self->type->name);
}

static const FyModuleClass cross_entropy_class = {.name = "CrossEntropyLoss", .forward = loss_forward};
static const FyModuleClass mse_class = {.name = "MSELoss", .forward = loss_forward};

FyModule *fy_nn_cross_entropy_loss(void) {
  return fy_module_new_of(sizeof(FyModule), &cross_entropy_class);
}
FyModule *fy_nn_mse_loss(void) {
  return fy_module_new_of(sizeof(FyModule), &mse_class);
}

FyTensor *fy_loss(FyModule *criterion, FyTensor *input, FyTensor *target) {
  fy_module_required(criterion, "fy_loss");
  fy_check(input && target, FY_TYPE_ERROR, "%s.forward() missing a required positional argument: '%s'",
           criterion->type->name, input ? "target" : "input");
  if (criterion->type == &cross_entropy_class)
    return fy_cross_entropy(input, target);
  if (criterion->type == &mse_class)
    return fy_mse_loss(input, target);
  fy_raise(FY_TYPE_ERROR, "%s is not a loss: fy_loss takes CrossEntropyLoss and MSELoss", criterion->type->name);
}
