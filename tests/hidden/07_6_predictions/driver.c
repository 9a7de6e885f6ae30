// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// Linear, ReLU, Linear, which records its calls.
typedef struct Watched {
  FyModule base;
  FyTensor *w1, *b1, *w2, *b2;
  int64_t calls, most_rows;
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  w->calls++;
  if (fy_size_at(x, 0) > w->most_rows)
    w->most_rows = fy_size_at(x, 0);
  return fy_linear(fy_relu(fy_linear(x, w->w1, w->b1)), w->w2, w->b2);
}

static Watched *watched(Driver *d) {
  Watched *w = fy_module_new(Watched, watched_forward);
  fy_register_parameter(w, w1, fy_clone(driver_tensor(d, "w1")));
  fy_register_parameter(w, b1, fy_clone(driver_tensor(d, "b1")));
  fy_register_parameter(w, w2, fy_clone(driver_tensor(d, "w2")));
  fy_register_parameter(w, b2, fy_clone(driver_tensor(d, "b2")));
  return w;
}

void drive(Driver *d) {
  FyDevice device = fy_device(driver_text(d, "device"));
  FyTensor *data = driver_tensor(d, "data");
  int64_t classes = fy_size_at(driver_tensor(d, "w2"), 0), batch = (int64_t)driver_number(d, "batch");
  Watched *model = watched(d);
  fy_module_to(model, device);
  fy_eval(model);
  driver_module(&model->base);
  fy_no_grad { // allocates the workspaces that are kept
    fy_scope {
      fy_forward(model, fy_zeros(fy_shape(batch, fy_size_at(data, 1)), .device = device));
    }
  }
  model->calls = model->most_rows = 0;
  fy_set_grad_enabled(!driver_has(d, "gradients disabled"));
  driver_count(d);
  FyTensor *scores = predict(&model->base, data, classes, batch, device);
  driver_stop(d);
  fy_set_grad_enabled(true);
  driver_put_number(d, "calls", (double)model->calls);
  driver_put_number(d, "most rows", (double)model->most_rows);
  driver_put(d, "scores", scores);
}
