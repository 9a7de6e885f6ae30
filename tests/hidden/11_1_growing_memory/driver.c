// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

enum { MOST_CALLS = 256 };

// A linear layer that records the memory in use when it is called.
typedef struct Watched {
  FyModule base;
  FyTensor *weight, *bias;
  int64_t calls, bytes[MOST_CALLS];
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  if (w->calls < MOST_CALLS)
    w->bytes[w->calls] = (int64_t)fy_memory_allocated(fy_device_of(w->weight));
  w->calls++;
  return fy_linear(x, w->weight, w->bias);
}

static Watched *watched(FyTensor *weight, FyTensor *bias) {
  Watched *model = fy_module_new(Watched, watched_forward);
  fy_register_parameter(model, weight, weight);
  fy_register_parameter(model, bias, bias);
  return model;
}

// Trains a copy of the model, with gradients enabled.
static FyTensor *train_another(FyTensor *weight, FyTensor *bias, FyTensor *x, FyTensor *y, double lr) {
  Watched *other = watched(fy_clone(fy_detach(weight)), fy_clone(fy_detach(bias)));
  FyTensor *losses = NULL;
  fy_grad_mode(true) {
    losses = train(&other->base, x, y, lr);
  }
  return losses;
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *y = driver_tensor(d, "y");
  driver_may_change(d, "weight");
  driver_may_change(d, "bias");
  // A call before, with the first batch only: nothing of it may be returned later.
  train_another(driver_tensor(d, "weight"), driver_tensor(d, "bias"), fy_narrow(x, 0, 0, 1), fy_narrow(y, 0, 0, 1),
                driver_number(d, "lr"));
  Watched *model = watched(driver_tensor(d, "weight"), driver_tensor(d, "bias"));
  driver_module(&model->base);
  FyTensor *losses = train(&model->base, x, y, driver_number(d, "lr"));
  int64_t noted = model->calls < MOST_CALLS ? model->calls : MOST_CALLS;
  driver_put_number(d, "calls", (double)model->calls);
  driver_put_array(d, "bytes", FY_INT64, shape(noted), model->bytes);
  driver_put(d, "weight", model->weight);
  driver_put(d, "bias", model->bias);
  // A call after, with negated parameters: it must not change the losses that were returned.
  FyTensor *later =
      train_another(fy_neg(fy_detach(model->weight)), fy_neg(fy_detach(model->bias)), x, y, driver_number(d, "lr"));
  driver_put(d, "losses", losses);
  driver_put(d, "losses of the call after", later);
}
