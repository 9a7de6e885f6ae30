// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// A linear layer (a grandchild) that records how it is called.
typedef struct Watched {
  FyModule base;
  FyModule *fc;
  int64_t calls, most_rows;
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  w->calls++;
  if (fy_size_at(x, 0) > w->most_rows)
    w->most_rows = fy_size_at(x, 0);
  return fy_forward(w->fc, x);
}

void drive(Driver *d) {
  FyTensor *weight = driver_tensor(d, "weight"), *bias = driver_tensor(d, "bias");
  FyTensor *x = driver_tensor(d, "x"), *target = driver_tensor(d, "target");
  Watched *model = fy_module_new(Watched, watched_forward);
  FyModule *linear = fy_nn_linear((int)fy_size_at(weight, 1), (int)fy_size_at(weight, 0));
  fy_register_module(model, fc, fy_nn_sequential(linear));
  FyTensorList *parameters = fy_parameters(model);
  fy_no_grad {
    fy_copy_(parameters->items[0], weight);
    fy_copy_(parameters->items[1], bias);
  }
  fy_module_to(model, fy_device_of(x));
  fy_forward(model->fc, fy_narrow(x, 0, 0, 1)); // allocates the workspaces that are kept
  if (driver_has(d, "evaluation mode"))
    fy_eval(&model->base);
  if (driver_has(d, "child in the other mode")) // in the other mode than the model
    model->fc->training = !model->base.training;
  const int64_t batch = (int64_t)driver_number(d, "batch");
  driver_module(&model->base);
  fy_set_grad_enabled(!driver_has(d, "gradients disabled"));
  driver_count(d);
  double loss = evaluate(&model->base, x, target, batch);
  driver_stop(d);
  fy_set_grad_enabled(true);
  driver_put_number(d, "loss", loss);
  driver_put(d, "weight", parameters->items[0]);
  driver_put_number(d, "calls", (double)model->calls);
  driver_put_number(d, "most rows", (double)model->most_rows);
  // A second call, with one row, shows state that was kept from the first.
  driver_put_number(d, "loss of one row", evaluate(&model->base, fy_narrow(x, 0, 0, 1), fy_narrow(target, 0, 0, 1), 1));
}
