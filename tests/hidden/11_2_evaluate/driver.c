// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <string.h>

enum { MOST_CALLS = 256 };

// Linear, BatchNorm, dropout, Linear. It records the modes that it is called in, and the memory in use then.
typedef struct Watched {
  FyModule base;
  FyModule *norm, *dropout;
  FyTensor *w1, *w2, *b2;
  int64_t calls, training, graphs, most_rows, bytes[MOST_CALLS];
} Watched;

static FyTensor *watched_forward(FyModule *self, FyTensor *x) {
  Watched *w = (Watched *)self;
  if (w->calls < MOST_CALLS)
    w->bytes[w->calls] = (int64_t)fy_memory_allocated(fy_device_of(w->w1));
  w->calls++;
  w->training += self->training || w->norm->training || w->dropout->training;
  if (fy_size_at(x, 0) > w->most_rows)
    w->most_rows = fy_size_at(x, 0);
  FyTensor *hidden = fy_forward(w->dropout, fy_forward(w->norm, fy_linear(x, w->w1, NULL)));
  FyTensor *output = fy_linear(hidden, w->w2, w->b2);
  w->graphs += fy_requires_grad(output);
  return output;
}

static FyTensor *buffer_of(FyModule *model, const char *name) {
  return fy_list_get(fy_state_dict(model), name);
}

static Watched *watched(Driver *d) {
  Watched *w = fy_module_new(Watched, watched_forward);
  fy_register_parameter(w, w1, driver_tensor(d, "w1"));
  fy_register_parameter(w, w2, driver_tensor(d, "w2"));
  fy_register_parameter(w, b2, driver_tensor(d, "b2"));
  if (driver_number(d, "frozen") == 1)
    fy_set_requires_grad(w->w2, false);
  fy_register_module(w, norm, fy_nn_batch_norm1d((int)fy_size_at(driver_tensor(d, "w1"), 0)));
  fy_register_module(w, dropout, fy_nn_dropout(0.5));
  fy_module_to(w, fy_device_of(driver_tensor(d, "w1")));
  fy_no_grad {
    fy_copy_(buffer_of(&w->base, "norm.running_mean"), driver_tensor(d, "mean"));
    fy_copy_(buffer_of(&w->base, "norm.running_var"), driver_tensor(d, "variance"));
  }
  return w;
}

static double run(Driver *d, Watched *model, double *loss) {
  bool recording = driver_number(d, "recording") == 1;
  double share = 0;
  fy_grad_mode(recording) {
    share = evaluate(&model->base, driver_tensor(d, "x"), driver_tensor(d, "labels"),
                     (int64_t)driver_number(d, "batch"), loss);
    driver_put_number(d, "recording afterwards", fy_is_grad_enabled());
  }
  return share;
}

void drive(Driver *d) {
  Watched *model = watched(d);
  double loss = -1;
  fy_set_training_of(&model->base, driver_number(d, "training") == 1);
  if (driver_number(d, "training") == 1) // between two steps there may be gradients
    fy_set_grad(model->w1, fy_full(3, fy_size(model->w1), .device = fy_device_of(model->w1)));
  const FyRngState before = fy_get_rng_state();
  double share = run(d, model, &loss);
  const FyRngState after = fy_get_rng_state();
  driver_put_number(d, "drawn", memcmp(&after, &before, sizeof after) != 0);
  int64_t noted = model->calls < MOST_CALLS ? model->calls : MOST_CALLS;
  driver_put_number(d, "share", share);
  driver_put_number(d, "loss", loss);
  driver_put_number(d, "calls", (double)model->calls);
  driver_put_number(d, "calls in training mode", (double)model->training);
  driver_put_number(d, "outputs with a graph", (double)model->graphs);
  driver_put_number(d, "most rows", (double)model->most_rows);
  driver_put_array(d, "bytes", FY_INT64, shape(noted), model->bytes);
  driver_put_number(d, "training afterwards", model->base.training + model->norm->training + model->dropout->training);
  driver_put(d, "w1", model->w1);
  driver_put(d, "w2", model->w2);
  driver_put(d, "w1.grad", fy_grad(model->w1));
  driver_put(d, "mean", buffer_of(&model->base, "norm.running_mean"));
}
