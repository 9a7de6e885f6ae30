// SPDX-License-Identifier: MIT
// Which of the kernels with a hook does a convolution on the CPU.
#include "op/benchmark.h"
#include "op/convolution/conv_costs.h"
#include "op/convolution/conv_cpu.h"
#include "op/convolution/winograd.h"

// ---- the rule for Winograd's algorithm -----------------------------------------------------------------------------------------

static int64_t tiles_along(int64_t outputs) {
  return (outputs + 3) / 4;
}

// Whether Winograd's is clearly faster than the direct algorithms: `in` channels to `out` channels, of n images whose results, or
// whose output's gradients, are h by w.
//
// Time is counted in the products at the points: 36 for each tile and pair of channels. To them come the ways to the points
// and back, which each channel takes once and not once per pair, so that they are `ways` / in + `ways` / out of that; and the
// kernels' way, once per call, as much as 40 tiles take. A direct algorithm has 9 products for each output and pair, and each of them
// takes `direct` of the time of one at the points. Both numbers are the machine's (conv_costs.h); on a Sapphire Rapids processor
// they are 9 and 0.7. The form was fitted there to 352 shapes of 8 to 128 channels, images of 4x4 to 56x56, 16 to 600 tiles, all
// three passes. Of few channels vectors are not full, of few tiles it is the fit that says too much, and of more than 256 by 256
// channels the kernels at the points, 9 MiB, fall out of the caches.
static bool pays(int64_t n, int64_t in, int64_t out, int64_t h, int64_t w) {
  enum { FEWEST = 16, MOST_PAIRS = 256 * 256, LEAST_TILES = 128 };
  const double least_gain = 1.1;
  const int64_t image = tiles_along(h) * tiles_along(w), tiles = n * image;
  if (in < FEWEST || out < FEWEST || in * out > MOST_PAIRS || tiles < LEAST_TILES)
    return false;
  const FyConvCosts costs = fy_conv_costs();
  const double saving = (double)(9 * h * w) / (double)(36 * image);
  const double more = costs.ways / (double)in + costs.ways / (double)out + 40.0 / (double)tiles;
  return costs.direct * saving > least_gain * (1 + more);
}

static bool takes_winograd(FyConvAlgorithm algorithm, FyDType dtype, const FyConvShape *s, int64_t in, int64_t out,
                           int64_t h, int64_t w) {
  return fy_winograd_suits(dtype, s) &&
         (algorithm == FY_CONV_WINOGRAD ||
          (algorithm == FY_CONV_BY_RULE && fy_backends_winograd() && pays(s->n, in, out, h, w)));
}

bool fy_conv_rule_is_winograd(FyDType dtype, const FyConvShape *s) {
  return takes_winograd(FY_CONV_BY_RULE, dtype, s, s->c, s->o, s->oh, s->ow);
}

// Whether another kernel is to do what Winograd's has not: because of the numbers, whatever algorithm was asked for, or by the rule
// for want of memory.
static bool is_handed_on(int status, FyConvAlgorithm *algorithm) {
  const bool handed_on =
      status == FY_WINOGRAD_LARGE || (status == FY_LAUNCH_NO_MEMORY && *algorithm == FY_CONV_BY_RULE);
  if (handed_on)
    *algorithm = FY_CONV_BY_RULE;
  return handed_on;
}

// ---- passes --------------------------------------------------------------------------------------------------------------------

static void begin(const FyConvHook *hook) {
  if (hook && hook->begin)
    hook->begin(hook->context);
}

int fy_conv_run_forward(FyLaunch *l, FyConvAlgorithm *algorithm, const FyConvShape *s, FyDType dtype, const void *x,
                        const void *weight, const void *bias, void *out, const FyConvHook *hook) {
  if (takes_winograd(*algorithm, dtype, s, s->c, s->o, s->oh, s->ow)) {
    begin(hook);
    const int status = fy_winograd_forward(l, s, x, weight, bias, out, hook);
    if (!is_handed_on(status, algorithm))
      return status;
  }
  begin(hook);
  return dtype == FY_FLOAT64 ? FY_LAUNCH_NO_KERNEL
                             : fy_dnn_forward(l, *algorithm, s, dtype, x, weight, bias, out, hook);
}

int fy_conv_run_backward_input(FyLaunch *l, FyConvAlgorithm *algorithm, const FyConvShape *s, FyDType dtype,
                               const void *grad, const void *weight, void *grad_x, const FyConvHook *hook) {
  if (takes_winograd(*algorithm, dtype, s, s->o, s->c, s->h, s->w)) {
    begin(hook);
    const int status = fy_winograd_backward_input(l, s, grad, weight, grad_x, hook);
    if (!is_handed_on(status, algorithm))
      return status;
  }
  begin(hook);
  return dtype == FY_FLOAT64 ? FY_LAUNCH_NO_KERNEL
                             : fy_dnn_backward_input(l, *algorithm, s, dtype, grad, weight, grad_x, hook);
}

int fy_conv_run_backward_weight(FyLaunch *l, FyConvAlgorithm *algorithm, const FyConvShape *s, FyDType dtype,
                                const void *grad, const void *x, void *grad_weight, const FyConvHook *hook) {
  if (takes_winograd(*algorithm, dtype, s, s->c, s->o, s->oh, s->ow)) {
    begin(hook);
    const int status = fy_winograd_backward_weight(l, s, grad, x, grad_weight, hook);
    if (!is_handed_on(status, algorithm))
      return status;
  }
  begin(hook);
  return dtype == FY_FLOAT64 ? FY_LAUNCH_NO_KERNEL
                             : fy_dnn_backward_weight(l, *algorithm, s, dtype, grad, x, grad_weight, hook);
}
