// SPDX-License-Identifier: MIT
// The fused optimizer steps: one pass over a parameter, its gradient and its state. Plain C, shared with the CUDA source.
#ifndef FERRY_OP_STEP_H
#define FERRY_OP_STEP_H

#include <math.h>
#include <stdbool.h>

// sgd_step: inputs param, grad, and momentum buffer (or none when momentum is 0).
typedef struct FySgdStep {
  double lr, momentum, dampening, weight_decay;
  bool nesterov;
  bool first; // the buffer is still zeros: it becomes the gradient, whatever the dampening
} FySgdStep;

// adam_step: inputs param, grad, exp_avg, exp_avg_sq. The factors that depend on the step's number are computed once, in
// float64, on the host; or on the device by adam_advance, and come as a further input.
typedef struct FyAdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  bool decoupled;               // AdamW: the decay shrinks the parameter, and is no part of the gradient
  double bias_correction1;      // 1 - beta1^step
  double bias_correction2_sqrt; // sqrt(1 - beta2^step)
} FyAdamStep;

// adam_advance: inputs step (float32, one element, which it counts on) and factors (float64, FY_ADAM_FACTORS), for a step
// whose number the host does not know, because a CUDA graph repeats it. With found_inf, a float32 number: where that is not
// 0 nothing is counted, and adam_step does nothing.
typedef struct FyAdamAdvance {
  double lr, beta1, beta2;
} FyAdamAdvance;

enum { FY_ADAM_SIZE, FY_ADAM_CORRECTION, FY_ADAM_SKIPPED, FY_ADAM_FACTORS };

#ifdef __CUDACC__
#define FY_STEP_FUNCTION static __host__ __device__ __forceinline__
#else
#define FY_STEP_FUNCTION static inline
#endif

// The factors are what the host passes to adam_step, computed in the same way.
FY_STEP_FUNCTION void fy_adam_advance(float *step, double *factors, const float *found_inf, FyAdamAdvance o) {
  const bool skipped = found_inf && *found_inf != 0;
  if (!skipped)
    *step += 1;
  factors[FY_ADAM_SIZE] = o.lr / (1 - pow(o.beta1, (double)*step));
  factors[FY_ADAM_CORRECTION] = 1 / sqrt(1 - pow(o.beta2, (double)*step));
  factors[FY_ADAM_SKIPPED] = skipped;
}

#endif
