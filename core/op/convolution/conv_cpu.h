// SPDX-License-Identifier: MIT
// The ways a convolution runs on the CPU, for conv.c and conv_pool_cpu.c: all arrays row-major. The third is in winograd.h.
#ifndef FERRY_OP_CONV_CPU_H
#define FERRY_OP_CONV_CPU_H

#include "op/convolution/conv.h"

// As matrix products over columns (im2col), float32 or float64. `bias` may be NULL. Return 0 or a code for the dispatcher.
int fy_im2col_forward(FyLaunch *l, const FyConvShape *s, FyDType dtype, const void *x, const void *weight,
                      const void *bias, void *out);
int fy_im2col_backward_input(FyLaunch *l, const FyConvShape *s, FyDType dtype, const void *grad, const void *weight,
                             void *grad_x);
int fy_im2col_backward_weight(FyLaunch *l, const FyConvShape *s, FyDType dtype, const void *grad, const void *x,
                              void *grad_weight);

// A convolution whose output (or its gradient) is no array: it is met chunk by chunk, while it is in the cache. `meet` takes
// (forward) or makes (backward) `images` of them from `first` on, with their channels last: (images, oh, ow, o). Of bfloat16
// convolutions it takes float32, which oneDNN has not rounded, and makes bfloat16. Chunks are numbered by `part`; `scratch` is the
// caller's own for the call. `begin`, where there is one, is called before the first chunk, and again where another kernel starts over:
// what has been added up is void.
typedef struct FyConvHook {
  void (*begin)(const void *context);
  void (*meet)(const void *context, int64_t first, int64_t images, int64_t part, void *chunk, void *scratch);
  const void *context;
  size_t scratch_bytes;
  bool x_channels_last; // x, or its gradient, has its channels last in memory too
} FyConvHook;

enum { FY_CONV_MOST_PARTS = 16 }; // chunks of a weight's gradient, at most

// total (n) = the sum, in their order, of `parts` arrays that lie one after the other. The first may be the total itself.
void fy_conv_sum_parts(FyDType dtype, int64_t parts, int64_t n, const void *part, void *total);

// By oneDNN, float32 or bfloat16, where sums are float32. FY_LAUNCH_NO_KERNEL when oneDNN does not do this convolution by this
// algorithm, or by the rule (FY_CONV_BY_RULE) im2col is faster. With a hook, `out` and `grad` are not used. The weight's gradient
// is float32 with a hook.
int fy_dnn_forward(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype, const void *x,
                   const void *weight, const void *bias, void *out, const FyConvHook *hook);
int fy_dnn_backward_input(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype, const void *grad,
                          const void *weight, void *grad_x, const FyConvHook *hook);
int fy_dnn_backward_weight(FyLaunch *l, FyConvAlgorithm algorithm, const FyConvShape *s, FyDType dtype,
                           const void *grad, const void *x, void *grad_weight, const FyConvHook *hook);

// Whether the rule takes Winograd's algorithm for a convolution forward on the CPU.
bool fy_conv_rule_is_winograd(FyDType dtype, const FyConvShape *s);

// By Winograd's algorithm (winograd.h) where it is asked for or the rule takes it, else by oneDNN. Of float64 by neither.
// `algorithm` becomes FY_CONV_BY_RULE where Winograd's was asked for and a number is too large for it: where oneDNN then
// declines, the caller's own kernel is to go on by the rule.
int fy_conv_run_forward(FyLaunch *l, FyConvAlgorithm *algorithm, const FyConvShape *s, FyDType dtype, const void *x,
                        const void *weight, const void *bias, void *out, const FyConvHook *hook);
int fy_conv_run_backward_input(FyLaunch *l, FyConvAlgorithm *algorithm, const FyConvShape *s, FyDType dtype,
                               const void *grad, const void *weight, void *grad_x, const FyConvHook *hook);
int fy_conv_run_backward_weight(FyLaunch *l, FyConvAlgorithm *algorithm, const FyConvShape *s, FyDType dtype,
                                const void *grad, const void *x, void *grad_weight, const FyConvHook *hook);

#endif
