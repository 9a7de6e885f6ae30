// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdio.h>

// A linear layer that records the autocast state of its forward and backward passes.
typedef struct Watched {
  FyModule base;
  FyTensor *weight, *bias;
  int type, calls, in_float16, backward_inside;
} Watched;

static FyTensor *watch_backward(FyTensor *grad, void *context) {
  Watched *w = context;
  (void)grad;
  w->backward_inside += fy_is_autocast_enabled(w->type);
  return NULL;
}

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  w->calls++;
  w->in_float16 += fy_is_autocast_enabled(w->type) && fy_get_autocast_dtype(w->type) == FY_FLOAT16;
  FyTensor *output = fy_linear(x, w->weight, w->bias);
  if (fy_requires_grad(output))
    fy_register_hook(output, watch_backward, w, NULL);
  return output;
}

static void put(Driver *d, const char *what, int step, FyTensor *t) {
  char name[32];
  snprintf(name, sizeof name, "%s %d", what, step);
  driver_put(d, name, t);
}

// Gradients of an earlier step, which contain the scale.
static FyTensor *stale(const FyTensor *p, double scale) {
  return fy_full(3 * scale, fy_size(p), .device = fy_device_of(p));
}

static void put_notes(Driver *d, const Watched *model, FyGradScaler *scaler, int step) {
  char name[32];
  snprintf(name, sizeof name, "scale %d", step);
  driver_put_number(d, name, fy_scaler_get_scale(scaler));
  driver_put_number(d, "calls", model->calls);
  driver_put_number(d, "in float16", model->in_float16);
  driver_put_number(d, "backward inside", model->backward_inside);
}

static Watched *watched(FyTensor *weight, FyTensor *bias) {
  Watched *model = fy_module_new(Watched, watched_forward);
  fy_register_parameter(model, weight, weight);
  fy_register_parameter(model, bias, bias);
  model->type = fy_device_of(weight).type;
  return model;
}

static FyTensor *ones_like(const FyTensor *parameter) {
  return fy_set_requires_grad(fy_ones(fy_size(parameter), .device = fy_device_of(parameter)), true);
}

// A step of another model: it must not affect the steps that are judged.
static void train_another(Driver *d, FyTensor *x, FyTensor *y) {
  Watched *other = watched(ones_like(driver_tensor(d, "weight")), ones_like(driver_tensor(d, "bias")));
  FyOptimizer *optimizer = fy_sgd(fy_parameters(other), .lr = driver_number(d, "lr"));
  FyGradScaler *scaler = fy_grad_scaler(other->type, .init_scale = driver_number(d, "scale"));
  train_step(&other->base, optimizer, scaler, fy_select(x, 0, 0), fy_select(y, 0, 0), driver_number(d, "max_norm"));
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *y = driver_tensor(d, "y");
  train_another(d, x, y);
  driver_may_change(d, "weight");
  driver_may_change(d, "bias");
  Watched *model = watched(driver_tensor(d, "weight"), driver_tensor(d, "bias"));
  FyTensor *results[16][3];
  int steps = (int)fy_size_at(x, 0);
  driver_module(&model->base);
  fy_set_grad(model->weight, stale(model->weight, driver_number(d, "scale")));
  fy_set_grad(model->bias, stale(model->bias, driver_number(d, "scale")));
  FyOptimizer *optimizer = fy_sgd(fy_parameters(model), .lr = driver_number(d, "lr"));
  FyGradScaler *scaler = fy_grad_scaler(model->type, .init_scale = driver_number(d, "scale"), .growth_interval = 2);
  for (int step = 0; step < steps; step++) {
    FyTensor *data = fy_select(x, 0, step), *target = fy_select(y, 0, step);
    if (step == 1) // by now the scaler has made its scale
      driver_count(d);
    results[step][0] = train_step(&model->base, optimizer, scaler, data, target, driver_number(d, "max_norm"));
    if (step == steps - 1)
      driver_stop(d);
    if (!results[step][0])
      return;
    results[step][1] = fy_clone(fy_detach(model->weight));
    results[step][2] = fy_clone(fy_detach(model->bias));
    if (step == 0) { // arrives even if a later step raises an error
      put(d, "loss", 0, results[0][0]);
      put(d, "weight", 0, results[0][1]);
    }
  }
  put_notes(d, model, scaler, steps - 1);
  for (int step = 0; step < steps; step++) {
    if (step > 0)
      put(d, "loss", step, results[step][0]);
    if (step > 0)
      put(d, "weight", step, results[step][1]);
    put(d, "bias", step, results[step][2]);
  }
}
