// SPDX-License-Identifier: MIT
// Optimizers: torch.optim. One fused pass over each parameter, its gradient and its state. An optimizer, and the
// parameters it steps, are for one thread at a time.
#ifndef FERRY_OPTIM_OPTIM_H
#define FERRY_OPTIM_OPTIM_H

#include "base/options.h"
#include "nn/nn.h"

// An object of the scope; keeps its parameters. State lives on each parameter's device and follows it when it moves. It
// has the parameter's dtype, but float32 for float16 and bfloat16, whose steps are computed in float32, too. A gradient of
// another dtype than its parameter's (the module was converted between forward and backward) is cast to that of the state
// by SGD; Adam and AdamW raise FY_RUNTIME_ERROR "expected dtype double for `end` but got dtype float", as in PyTorch.
// The constructors raise FY_VALUE_ERROR with PyTorch's texts: "optimizer got an empty parameter list", "can't optimize a
// non-leaf Tensor", "Invalid learning rate: -1.0", ...
typedef struct FyOptimizer FyOptimizer;

// optim.SGD(params, lr, momentum, dampening, weight_decay, nesterov): fy_sgd(fy_parameters(model), .lr = 0.1).
// lr is 1e-3 unless it is named. Raises FY_VALUE_ERROR for negative values, and for Nesterov without momentum or with dampening.
typedef struct FySgd {
  FyTensorList *parameters;
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  const char *named; // the arguments' text, by the macro. NULL: lr 0 means the default
} FySgd;
#define fy_sgd(...) fy_sgd_with((FySgd){.named = FY_TEXT_OF(__VA_ARGS__), .parameters = __VA_ARGS__})
FY_API FyOptimizer *fy_sgd_with(FySgd options);

// optim.Adam and optim.AdamW: fy_adam(fy_parameters(model), .lr = 1e-3). What is not named has PyTorch's default: lr 1e-3,
// beta1 0.9, beta2 0.999, eps 1e-8; weight_decay 0 for Adam, 0.01 for AdamW. A zero that is named, `.beta1 = 0`, is zero;
// .no_weight_decay is `.weight_decay = 0`. Raises FY_VALUE_ERROR for values that are negative, and betas from 1 on. With
// .capturable the number of the step, which it depends on, is counted on the device, by one more kernel for each parameter, so that a CUDA
// graph (device/cuda_graph.h) can repeat a step: a learning rate that is set later does not reach those. For parameters on
// CUDA devices only.
typedef struct FyAdam {
  FyTensorList *parameters;
  double lr, beta1, beta2, eps, weight_decay;
  bool no_weight_decay, capturable;
  const char *named; // the arguments' text, by the macro. NULL: zeros stand for the defaults
} FyAdam;
#define fy_adam(...) fy_adam_with((FyAdam){.named = FY_TEXT_OF(__VA_ARGS__), .parameters = __VA_ARGS__})
FY_API FyOptimizer *fy_adam_with(FyAdam options);
#define fy_adamw(...) fy_adamw_with((FyAdam){.named = FY_TEXT_OF(__VA_ARGS__), .parameters = __VA_ARGS__})
FY_API FyOptimizer *fy_adamw_with(FyAdam options);

// optimizer.step(): parameters without a gradient are left alone; the others are changed in place (their version counters
// rise), each by one kernel. optimizer.zero_grad(): grads become None. Adam and AdamW raise FY_RUNTIME_ERROR "Attempting CUDA
// graph capture of step() for an instance of Adam but param_groups' capturable is False.", and with .capturable "If
// capturable=True, params and state_steps must be on supported devices: ['cuda'].".
FY_API void fy_step(FyOptimizer *optimizer);
FY_API void fy_zero_grad(FyOptimizer *optimizer);

FY_API double fy_learning_rate(const FyOptimizer *optimizer);
FY_API void fy_set_learning_rate(FyOptimizer *optimizer, double lr);

#endif
