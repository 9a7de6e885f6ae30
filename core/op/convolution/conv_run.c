// Which of the kernels with a hook does a convolution on the CPU.
#include "op/convolution/conv_cpu.h"
#include "op/convolution/winograd.h"

static bool goes_on(int status, FyDType dtype) {
  return status == FY_LAUNCH_NO_KERNEL && dtype != FY_FLOAT64;
}

int fy_conv_run_forward(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype, const void *x,
                        const void *weight, const void *bias, void *out, const FyConvHook *hook) {
  const int status = fy_winograd_forward(l, algorithm, s, dtype, x, weight, bias, out, hook);
  return goes_on(status, dtype) ? fy_dnn_forward(l, algorithm, s, dtype, x, weight, bias, out, hook) : status;
}

int fy_conv_run_backward_input(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype,
                               const void *grad, const void *weight, void *grad_x, const FyConvHook *hook) {
  const int status = fy_winograd_backward_input(l, algorithm, s, dtype, grad, weight, grad_x, hook);
  return goes_on(status, dtype) ? fy_dnn_backward_input(l, algorithm, s, dtype, grad, weight, grad_x, hook) : status;
}

int fy_conv_run_backward_weight(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype,
                                const void *grad, const void *x, void *grad_weight, const FyConvHook *hook) {
  const int status = fy_winograd_backward_weight(l, algorithm, s, dtype, grad, x, grad_weight, hook);
  return goes_on(status, dtype) ? fy_dnn_backward_weight(l, algorithm, s, dtype, grad, x, grad_weight, hook) : status;
}
