// SPDX-License-Identifier: MIT
// What can be asked of a gradient scaler, and its state as a list of named numbers.
#include "amp/grad_scaler.h"
#include "amp/impl.h"
#include "op/ops.h"
#include "tensor/impl.h"
#include <math.h>

bool fy_scaler_is_enabled(const FyGradScaler *s) {
  return s->enabled;
}
double fy_scaler_get_scale(const FyGradScaler *s) {
  return !s->enabled ? 1 : s->scale ? fy_item(s->scale) : s->init_scale;
}
double fy_scaler_get_growth_factor(const FyGradScaler *s) {
  return s->growth_factor;
}
double fy_scaler_get_backoff_factor(const FyGradScaler *s) {
  return s->backoff_factor;
}
int64_t fy_scaler_get_growth_interval(const FyGradScaler *s) {
  return s->growth_interval;
}
void fy_scaler_set_growth_factor(FyGradScaler *s, double factor) {
  s->growth_factor = factor;
}
void fy_scaler_set_backoff_factor(FyGradScaler *s, double factor) {
  s->backoff_factor = factor;
}
void fy_scaler_set_growth_interval(FyGradScaler *s, int64_t interval) {
  s->growth_interval = interval;
}
int64_t fy_scaler_tracker(const FyGradScaler *s) {
  return s->tracker ? fy_item_int64(s->tracker) : s->init_tracker;
}

// ---- state_dict --------------------------------------------------------------------------------------------------------

static void add_real(FyTensorList *list, const char *name, double value) {
  fy_scope {
    fy_list_add(list, name, fy_tensor(&value, FY_SCALAR));
  }
}
static void add_integer(FyTensorList *list, const char *name, int64_t value) {
  fy_scope {
    fy_list_add(list, name, fy_tensor(&value, FY_SCALAR));
  }
}

FyTensorList *fy_scaler_state_dict(const FyGradScaler *s) {
  fy_check(s, FY_TYPE_ERROR, "fy_scaler_state_dict: the scaler is NULL");
  FyTensorList *list = fy_tensor_list_new();
  if (!s->enabled)
    return list;
  add_real(list, "scale", fy_scaler_get_scale(s));
  add_real(list, "growth_factor", s->growth_factor);
  add_real(list, "backoff_factor", s->backoff_factor);
  add_integer(list, "growth_interval", s->growth_interval);
  add_integer(list, "_growth_tracker", fy_scaler_tracker(s));
  return list;
}

// ---- load_state_dict ---------------------------------------------------------------------------------------------------

static double number_of(const FyTensorList *list, const char *name) {
  const FyTensor *t = fy_list_get(list, name);
  fy_check(t->array.numel == 1, FY_VALUE_ERROR, "loaded state dict has no single number as \"%s\"", name);
  const double value = fy_item(t);
  fy_check(isfinite(value), FY_VALUE_ERROR, "loaded state dict has %g as \"%s\"", value, name);
  return value;
}

void fy_scaler_check_state(const FyGradScaler *s, const FyTensorList *list) {
  static const char *const names[] = {"scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker"};
  if (!s->enabled)
    return;
  fy_check(list->count > 0, FY_RUNTIME_ERROR,
           "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler.");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    number_of(list, names[i]);
}

void fy_scaler_load_state_dict(FyGradScaler *s, const FyTensorList *list) {
  fy_check(s && list, FY_TYPE_ERROR, "fy_scaler_load_state_dict: the scaler or the state dict is NULL");
  fy_scaler_check_state(s, list);
  if (!s->enabled)
    return;
  s->init_scale = number_of(list, "scale");
  s->growth_factor = number_of(list, "growth_factor");
  s->backoff_factor = number_of(list, "backoff_factor");
  s->growth_interval = (int64_t)number_of(list, "growth_interval");
  s->init_tracker = (int64_t)number_of(list, "_growth_tracker");
  if (!s->scale)
    return;
  fy_fill_(s->scale, s->init_scale);
  fy_fill_(s->tracker, (double)s->init_tracker);
}
