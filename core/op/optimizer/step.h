// The fused optimizer steps: one pass over a parameter, its gradient and its state. Plain C, shared with the CUDA source.
#ifndef FERRY_OP_STEP_H
#define FERRY_OP_STEP_H

#include <stdbool.h>

// sgd_step: inputs param, grad, and momentum buffer (or none when momentum is 0).
typedef struct FySgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  bool first; // the buffer is still zeros: it becomes the gradient, whatever the dampening
} FySgdStep;

// adam_step: inputs param, grad, exp_avg, exp_avg_sq. The factors that depend on the step's number are computed once, in
// float64, on the host.
typedef struct FyAdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;               // AdamW: the decay shrinks the parameter, and is no part of the gradient
  double bias_correction1;      // 1 - beta1^step
  double bias_correction2_sqrt; // sqrt(1 - beta2^step)
} FyAdamStep;

#endif
