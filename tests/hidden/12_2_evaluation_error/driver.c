// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// A linear layer that records the autocast state that it runs in.
typedef struct Watched {
  FyModule base;
  FyTensor *weight, *bias;
  int type, calls, in_float16, in_another;
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  w->calls++;
  w->in_another += fy_is_autocast_enabled(w->type) && fy_get_autocast_dtype(w->type) != FY_FLOAT16;
  w->in_float16 += fy_is_autocast_enabled(w->type) && fy_get_autocast_dtype(w->type) == FY_FLOAT16;
  return fy_linear(x, w->weight, w->bias);
}

static Watched *watched(FyTensor *weight, FyTensor *bias) {
  Watched *model = fy_module_new(Watched, watched_forward);
  fy_register_parameter(model, weight, weight);
  fy_register_parameter(model, bias, bias);
  model->type = fy_device_of(weight).type;
  return model;
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *y = driver_tensor(d, "y");
  // A call before, with another model and one batch: it must not affect the call that is judged.
  Watched *other =
      watched(fy_clone(fy_detach(driver_tensor(d, "weight"))), fy_clone(fy_detach(driver_tensor(d, "bias"))));
  mean_squared_error(&other->base, fy_narrow(x, 0, 0, 1), fy_narrow(y, 0, 0, 1));
  Watched *model = watched(driver_tensor(d, "weight"), driver_tensor(d, "bias"));
  driver_module(&model->base);
  driver_count(d);
  FyTensor *mean = mean_squared_error(&model->base, x, y);
  driver_stop(d);
  driver_put_number(d, "calls", model->calls);
  driver_put_number(d, "in float16", model->in_float16);
  driver_put_number(d, "in another type", model->in_another);
  driver_put(d, "mean", mean);
}
