// SPDX-License-Identifier: MIT
// Gradient clipping: torch.nn.utils.clip_grad. All of it is queued on the gradients' devices; the host waits for nothing,
// unless it has gradients too.
#include "op/ops.h"
#include "optim/schedule.h"
#include "tensor/impl.h"
#include <math.h>

// The 2-norm of one gradient, 0-dim, on its own device. Halves are squared in float32, where they do not overflow.
static FyTensor *norm_of(FyTensor *grad) {
  int scope = fy_scope_open();
  FyTensor *wide = grad->array.dtype == FY_FLOAT64 ? grad : fy_to_dtype(grad, FY_FLOAT32);
  FyTensor *norm = fy_keep(fy_sqrt(fy_sum(fy_mul(wide, wide))));
  fy_scope_close(scope);
  return norm;
}

// A number on another device, without waiting for it; but the host's own ops read memory at once.
static FyTensor *carried(FyTensor *number, FyDevice device) {
  return fy_to(number, device, .non_blocking = device.type == FY_CUDA);
}

// sqrt(sum of the squared norms), on the first gradient's device; NULL when there are no gradients.
static FyTensor *total_norm(const FyTensorList *parameters) {
  FyTensor *squares = NULL;
  FyDevice device = FY_CPU_DEVICE;
  for (int i = 0; i < parameters->count; i++) {
    FyTensor *grad = parameters->items[i]->grad;
    if (!grad)
      continue;
    if (!squares)
      device = grad->device;
    FyTensor *norm = carried(norm_of(grad), device);
    FyTensor *square = fy_mul(norm, norm);
    squares = squares ? fy_add(squares, square) : square;
  }
  return squares ? fy_sqrt(squares) : NULL;
}

static void scale_gradients(const FyTensorList *parameters, FyTensor *total, double max_norm) {
  FyTensor *factor = fy_clamp(fy_div(fy_number(max_norm), fy_add_scalar(total, 1e-6)), -INFINITY, 1);
  for (int i = 0; i < parameters->count; i++) {
    FyTensor *grad = parameters->items[i]->grad;
    if (!grad)
      continue;
    fy_scope {
      fy_mul_(grad, carried(factor, grad->device));
    }
  }
}

FyTensor *fy_clip_grad_norm_(const FyTensorList *parameters, double max_norm) {
  fy_check(parameters, FY_TYPE_ERROR, "fy_clip_grad_norm_: the list of parameters is NULL");
  fy_check(max_norm >= 0, FY_VALUE_ERROR, "fy_clip_grad_norm_: expected a max_norm from 0, but got %g", max_norm);
  FyTensor *result = NULL;
  int scope = fy_scope_open();
  fy_no_grad {
    result = total_norm(parameters);
    if (result)
      scale_gradients(parameters, result, max_norm);
    else
      result = fy_zeros(FY_SCALAR);
  }
  fy_keep(result);
  fy_scope_close(scope);
  return result;
}

void fy_clip_grad_value_(const FyTensorList *parameters, double clip_value) {
  fy_check(parameters, FY_TYPE_ERROR, "fy_clip_grad_value_: the list of parameters is NULL");
  fy_check(clip_value >= 0, FY_VALUE_ERROR, "fy_clip_grad_value_: expected a clip_value from 0, but got %g",
           clip_value);
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++) {
      if (!parameters->items[i]->grad)
        continue;
      fy_scope {
        fy_clamp_(parameters->items[i]->grad, -clip_value, clip_value);
      }
    }
  }
}
