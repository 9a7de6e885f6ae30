// SPDX-License-Identifier: MIT
// Optimizers: torch.optim. A step updates each parameter and its state with one fused kernel. Only one thread at a time
// may use an optimizer and its parameters.
#ifndef FERRY_OPTIM_OPTIM_H
#define FERRY_OPTIM_OPTIM_H

#include "base/options.h"
#include "nn/nn.h"

// An optimizer: an object owned by a scope. It retains its parameters. The state of a parameter is on the parameter's
// device, and follows the parameter to a different device. It has the parameter's dtype, but float32 for float16 and
// bfloat16, whose steps are also computed in float32. If the dtype of a gradient differs from the parameter's, because
// the module was converted between forward and backward, SGD casts the gradient to the dtype of the state. Adam and
// AdamW raise FY_RUNTIME_ERROR "expected dtype double for `end` but got dtype float", as in PyTorch. The functions that
// create an optimizer raise FY_VALUE_ERROR with PyTorch's messages: "optimizer got an empty parameter list", "can't
// optimize a non-leaf Tensor", "Invalid learning rate: -1.0", ...
typedef struct FyOptimizer FyOptimizer;

// Creates an SGD optimizer, owned by the innermost scope: fy_sgd(fy_parameters(model), .lr = 0.1). The default of lr is
// 1e-3; the other defaults are 0 and false. Raises FY_VALUE_ERROR if a value is negative, and for Nesterov momentum
// without momentum or with dampening. PyTorch: torch.optim.SGD(params, lr, momentum, dampening, weight_decay,
// nesterov).
typedef struct FySgd {
  FyTensorList *parameters;
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  const char *named; // set by the macro: the arguments as text. If NULL, an lr of 0 means the default
} FySgd;
#define fy_sgd(...) fy_sgd_with((FySgd){.named = FY_TEXT_OF(__VA_ARGS__), .parameters = __VA_ARGS__})
FY_API FyOptimizer *fy_sgd_with(FySgd options);

// Create an Adam or AdamW optimizer, owned by the innermost scope: fy_adam(fy_parameters(model), .lr = 1e-3). Options
// that you do not name have PyTorch's defaults: lr 1e-3, beta1 0.9, beta2 0.999, eps 1e-8, and weight_decay 0 for Adam
// or 0.01 for AdamW. An option that you set to zero, such as `.beta1 = 0`, is zero.
//
// With .capturable, the step number, on which the update depends, is counted on the device, by one additional kernel
// for each parameter. This lets a CUDA graph (device/cuda_graph.h) replay a step. A learning rate that you set after
// the capture has no effect on replays. All parameters must be on CUDA devices.
//
// Raise FY_VALUE_ERROR if a value is negative or a beta is 1 or greater.
//
// PyTorch: torch.optim.Adam(params, lr, betas, eps, weight_decay, capturable) and torch.optim.AdamW(params, lr, betas,
// eps, weight_decay, capturable).
typedef struct FyAdam {
  FyTensorList *parameters;
  double lr, beta1, beta2, eps, weight_decay;
  bool no_weight_decay, capturable; // no_weight_decay: the same as `.weight_decay = 0`
  const char *named;                // set by the macro: the arguments as text. If NULL, zeros mean the defaults
} FyAdam;
#define fy_adam(...) fy_adam_with((FyAdam){.named = FY_TEXT_OF(__VA_ARGS__), .parameters = __VA_ARGS__})
FY_API FyOptimizer *fy_adam_with(FyAdam options);
#define fy_adamw(...) fy_adamw_with((FyAdam){.named = FY_TEXT_OF(__VA_ARGS__), .parameters = __VA_ARGS__})
FY_API FyOptimizer *fy_adamw_with(FyAdam options);

// Updates all parameters that have a gradient, in place, with one kernel each; their version counters increase.
// Parameters without a gradient do not change. For Adam and AdamW, raises FY_RUNTIME_ERROR "Attempting CUDA graph
// capture of step() for an instance of Adam but param_groups' capturable is False.", and with .capturable "If
// capturable=True, params and state_steps must be on supported devices: ['cuda'].". PyTorch: optimizer.step().
FY_API void fy_step(FyOptimizer *optimizer);

// Sets the .grad of all parameters to NULL. PyTorch: optimizer.zero_grad().
FY_API void fy_zero_grad(FyOptimizer *optimizer);

// Return and set the learning rate. fy_set_learning_rate raises FY_VALUE_ERROR if `lr` is negative or NaN. PyTorch:
// optimizer.param_groups[0]["lr"].
FY_API double fy_learning_rate(const FyOptimizer *optimizer);
FY_API void fy_set_learning_rate(FyOptimizer *optimizer, double lr);

#endif
