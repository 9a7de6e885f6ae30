// SPDX-License-Identifier: MIT
// A gradient scaler goes through the same three stages for each optimizer between two updates: ready, unscaled, stepped.
#include "amp/grad_scaler.h"
#include "amp/impl.h"
#include "autograd/autograd.h"
#include "op/ops.h"
#include "optim/impl.h"
#include "tensor/impl.h"
#include <stdlib.h>

// ---- making and freeing ----------------------------------------------------------------------------------------------

// Forgets what was noted since the last update.
static void forget_optimizers(FyGradScaler *s) {
  while (s->count > 0) {
    FyScaledOptimizer *o = &s->optimizers[--s->count];
    for (int i = 0; i < o->devices; i++)
      fy_release(o->found_inf[i]);
    fy_release(o->optimizer);
  }
}

static void destroy(void *object) {
  FyGradScaler *s = object;
  forget_optimizers(s);
  free(s->optimizers);
  fy_release(s->scale);
  fy_release(s->tracker);
  free(s);
}

FyGradScaler *fy_grad_scaler_with(FyGradScalerOptions o) {
  static bool no_cuda;
  bool enabled = fy_option_or_true(o.named, "enabled", o.enabled);
  fy_check(o.device_type == FY_CPU || o.device_type == FY_CUDA, FY_RUNTIME_ERROR,
           "a GradScaler's device type is FY_CPU or FY_CUDA, but got %d", o.device_type);
  if (enabled && o.device_type == FY_CUDA && !fy_cuda_is_available()) {
    fy_warn_once(&no_cuda, "GradScaler is enabled, but CUDA is not available. Disabling.");
    enabled = false;
  }
  FyGradScaler *s = fy_object_new(sizeof *s, destroy);
  s->enabled = enabled;
  s->init_scale = fy_option_or(o.named, "init_scale", o.init_scale, 65536);
  s->growth_factor = fy_option_or(o.named, "growth_factor", o.growth_factor, 2);
  s->backoff_factor = fy_option_or(o.named, "backoff_factor", o.backoff_factor, 0.5);
  s->growth_interval =
      o.growth_interval ? o.growth_interval : (int64_t)fy_option_or(o.named, "growth_interval", 0, 2000);
  fy_check(!enabled || s->growth_factor > 1, FY_VALUE_ERROR, "The growth factor must be > 1.0.");
  fy_check(!enabled || s->backoff_factor < 1, FY_VALUE_ERROR, "The backoff factor must be < 1.0.");
  return s;
}

static void check_started(const FyGradScaler *s, const char *function) {
  fy_check(s->scale, FY_RUNTIME_ERROR,
           "Attempted %s but _scale is None.  This may indicate your script did not use scaler.scale(loss or outputs) "
           "earlier in the iteration.",
           function);
}

// A number on another device, without waiting for it; but the host's own ops read memory at once.
static FyTensor *carried(FyTensor *number, FyDevice device) {
  return fy_to(number, device, .non_blocking = device.type == FY_CUDA);
}

// ---- scale -------------------------------------------------------------------------------------------------------------

static void start_on(FyGradScaler *s, FyDevice device) {
  fy_scope {
    FyTensor *scale = fy_full(s->init_scale, FY_SCALAR, .device = device);
    FyTensor *tracker = fy_full((double)s->init_tracker, FY_SCALAR, .dtype = FY_INT32, .device = device);
    s->scale = fy_retain(scale);
    s->tracker = fy_retain(tracker);
  }
}

FyTensor *fy_scaler_scale(FyGradScaler *s, FyTensor *outputs) {
  fy_check(s && outputs, FY_TYPE_ERROR, "fy_scaler_scale: the scaler or the tensor is NULL");
  if (!s->enabled)
    return outputs;
  if (!s->scale)
    start_on(s, outputs->device);
  int scope = fy_scope_open();
  FyTensor *scaled = fy_keep(fy_mul(outputs, carried(s->scale, outputs->device)));
  fy_scope_close(scope);
  return scaled;
}

// ---- unscale_ ----------------------------------------------------------------------------------------------------------

static FyScaledOptimizer *state_of(FyGradScaler *s, FyOptimizer *optimizer) {
  for (int i = 0; i < s->count; i++)
    if (s->optimizers[i].optimizer == optimizer)
      return &s->optimizers[i];
  if (s->count == s->capacity) {
    const int capacity = s->capacity ? 2 * s->capacity : 2;
    FyScaledOptimizer *optimizers = realloc(s->optimizers, (size_t)capacity * sizeof *optimizers);
    fy_check(optimizers, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a GradScaler of %d optimizers", capacity);
    s->optimizers = optimizers;
    s->capacity = capacity;
  }
  s->optimizers[s->count] = (FyScaledOptimizer){.optimizer = fy_retain(optimizer)};
  return &s->optimizers[s->count++];
}

// One device's part.
typedef struct Unscaling {
  FyTensor *found_inf, *inv_scale;
} Unscaling;

static Unscaling *part_on(Unscaling *parts, int *count, FyDevice device, FyTensor *inv_scale) {
  for (int i = 0; i < *count; i++)
    if (fy_device_equal(parts[i].found_inf->device, device))
      return &parts[i];
  Unscaling *part = &parts[(*count)++];
  part->found_inf = fy_zeros(FY_SCALAR, .device = device);
  part->inv_scale = carried(inv_scale, device);
  return part;
}

static void check_gradients(const FyOptimizer *optimizer) {
  for (int i = 0; i < optimizer->count; i++) {
    const FyTensor *grad = optimizer->states[i].parameter->grad;
    fy_check(!grad || grad->array.dtype != FY_FLOAT16, FY_VALUE_ERROR, "Attempting to unscale FP16 gradients.");
  }
}

static void unscale_gradients(FyGradScaler *s, FyScaledOptimizer *state) {
  Unscaling parts[FY_MAX_DEVICES + 1];
  int count = 0;
  // The reciprocal in float64, rounded once.
  FyTensor *inv_scale = fy_to_dtype(fy_div(fy_number(1), fy_to_dtype(s->scale, FY_FLOAT64)), FY_FLOAT32);
  for (int i = 0; i < state->optimizer->count; i++) {
    FyTensor *grad = state->optimizer->states[i].parameter->grad;
    if (!grad)
      continue;
    const Unscaling *part = part_on(parts, &count, grad->device, inv_scale);
    fy_amp_foreach_non_finite_check_and_unscale_(fy_list(grad), part->found_inf, part->inv_scale);
  }
  for (int i = 0; i < count; i++)
    state->found_inf[i] = fy_retain(parts[i].found_inf);
  state->devices = count;
}

static void unscale(FyGradScaler *s, FyScaledOptimizer *state) {
  check_gradients(state->optimizer);
  fy_scope {
    fy_no_grad {
      unscale_gradients(s, state);
    }
  }
  state->stage = FY_SCALER_UNSCALED;
}

void fy_scaler_unscale_(FyGradScaler *s, FyOptimizer *optimizer) {
  fy_check(s && optimizer, FY_TYPE_ERROR, "fy_scaler_unscale_: the scaler or the optimizer is NULL");
  if (!s->enabled)
    return;
  check_started(s, "unscale_");
  FyScaledOptimizer *state = state_of(s, optimizer);
  fy_check(state->stage != FY_SCALER_UNSCALED, FY_RUNTIME_ERROR,
           "unscale_() has already been called on this optimizer since the last update().");
  fy_check(state->stage != FY_SCALER_STEPPED, FY_RUNTIME_ERROR, "unscale_() is being called after step().");
  unscale(s, state);
}

// ---- step, update ------------------------------------------------------------------------------------------------------

// This is where the host waits: only a step that is not to be taken needs to know.
static bool are_finite(const FyScaledOptimizer *state) {
  bool finite = true;
  for (int i = 0; i < state->devices; i++)
    finite &= fy_item(state->found_inf[i]) == 0;
  return finite;
}

static FyTensor *found_by(const FyGradScaler *s, const FyScaledOptimizer *state) {
  FyTensor *sum = NULL;
  for (int k = 0; k < state->devices; k++) {
    FyTensor *found = carried(state->found_inf[k], s->scale->device);
    sum = sum ? fy_add(sum, found) : found;
  }
  return sum;
}

// The optimizer's own kernels find out, on the device. An error leaves no pointer behind.
static void step_unless_found(const FyGradScaler *s, const FyScaledOptimizer *state) {
  FyError error;
  fy_scope {
    fy_trap(error) {
      fy_no_grad
        state->optimizer->found_inf = found_by(s, state);
      fy_step(state->optimizer);
    }
    state->optimizer->found_inf = NULL;
    if (error.kind)
      fy_raise_again(&error);
  }
}

bool fy_scaler_step(FyGradScaler *s, FyOptimizer *optimizer) {
  fy_check(s && optimizer, FY_TYPE_ERROR, "fy_scaler_step: the scaler or the optimizer is NULL");
  if (!s->enabled) {
    fy_step(optimizer);
    return true;
  }
  check_started(s, "step");
  FyScaledOptimizer *state = state_of(s, optimizer);
  fy_check(state->stage != FY_SCALER_STEPPED, FY_RUNTIME_ERROR,
           "step() has already been called since the last update().");
  if (state->stage == FY_SCALER_READY)
    unscale(s, state);
  fy_check(state->devices > 0, FY_RUNTIME_ERROR, "No inf checks were recorded for this optimizer.");
  const bool asks = !fy_optimizer_steps_on_device(optimizer), stepped = !asks || are_finite(state);
  if (asks && stepped)
    fy_step(optimizer);
  else if (!asks)
    step_unless_found(s, state);
  state->stage = FY_SCALER_STEPPED;
  return stepped;
}

// The sum of what was noted, on the scale's device; NULL: nothing was.
static FyTensor *found_anywhere(const FyGradScaler *s) {
  FyTensor *sum = NULL;
  for (int i = 0; i < s->count; i++) {
    FyTensor *found = found_by(s, &s->optimizers[i]);
    sum = sum && found ? fy_add(sum, found) : found ? found : sum;
  }
  return sum;
}

void fy_scaler_update(FyGradScaler *s) {
  fy_check(s, FY_TYPE_ERROR, "fy_scaler_update: the scaler is NULL");
  if (!s->enabled)
    return;
  check_started(s, "update");
  fy_scope {
    fy_no_grad {
      FyTensor *found = found_anywhere(s);
      fy_check(found, FY_RUNTIME_ERROR, "No inf checks were recorded prior to update.");
      fy_amp_update_scale_(s->scale, s->tracker, found, s->growth_factor, s->backoff_factor, s->growth_interval);
    }
  }
  forget_optimizers(s);
}

void fy_scaler_update_to(FyGradScaler *s, double new_scale) {
  fy_check(s, FY_TYPE_ERROR, "fy_scaler_update_to: the scaler is NULL");
  if (!s->enabled)
    return;
  check_started(s, "update");
  fy_fill_(s->scale, new_scale);
  forget_optimizers(s);
}
