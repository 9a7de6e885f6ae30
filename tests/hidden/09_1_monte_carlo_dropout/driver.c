// SPDX-License-Identifier: MIT
// The dropout is the driver's own: in training mode it takes its masks from an array, so that the results are known.
#include "driver.h"
#include "answer.h"
#include <stdio.h>

typedef struct Masked {
  FyModule base;
  FyTensor *masks; // (passes, hidden): 0 or 1 / (1 - p)
  int64_t calls, dropped;
} Masked;

static FyTensor *masked_forward(FyModule *self, FyTensor *x) {
  Masked *m = (Masked *)self;
  m->calls++;
  if (!self->training)
    return fy_mul_scalar(x, 1);
  return fy_mul(x, fy_select(m->masks, 0, m->dropped++ % fy_size_at(m->masks, 0)));
}

static int64_t most_rows; // of a call

static FyTensor *net_forward(FyModule *self, FyTensor *x) {
  Net *net = (Net *)self;
  most_rows = fy_size_at(x, 0) > most_rows ? fy_size_at(x, 0) : most_rows;
  x = fy_relu(fy_forward(net->norm, fy_forward(net->first, x)));
  return fy_forward(net->last, fy_forward(net->dropout, x));
}

static void fill(Driver *d, FyModule *module, const char *const *names) {
  FyTensorList *state = fy_state_dict(module);
  for (int i = 0; names[i]; i++)
    fy_copy_(state->items[i], driver_tensor(d, names[i]));
}

static Net *new_net(Driver *d, Masked **masked) {
  FyTensor *first = driver_tensor(d, "first.weight"), *last = driver_tensor(d, "last.weight");
  Net *net = fy_module_new(Net, net_forward);
  *masked = fy_module_new(Masked, masked_forward);
  fy_register_module(net, first, fy_nn_linear((int)fy_size_at(first, 1), (int)fy_size_at(first, 0)));
  fy_register_module(net, norm, fy_nn_batch_norm1d((int)fy_size_at(first, 0), .no_affine = true));
  fy_register_module(net, dropout, &(*masked)->base);
  fy_register_module(net, last, fy_nn_linear((int)fy_size_at(last, 1), (int)fy_size_at(last, 0)));
  fill(d, net->first, (const char *[]){"first.weight", "first.bias", NULL});
  fill(d, net->norm, (const char *[]){"running_mean", "running_var", NULL});
  fill(d, net->last, (const char *[]){"last.weight", "last.bias", NULL});
  fy_module_to(net, fy_device_of(driver_tensor(d, "x")));
  (*masked)->masks = fy_to(driver_tensor(d, "masks"), fy_device_of(driver_tensor(d, "x")));
  return net;
}

static int modes(const Net *net) {
  return net->base.training + 2 * net->first->training + 4 * net->norm->training + 8 * net->dropout->training +
         16 * net->last->training;
}

static void set_modes(Net *net, int modes) {
  FyModule *parts[] = {&net->base, net->first, net->norm, net->dropout, net->last};
  for (int i = 0; i < 5; i++)
    fy_set_training_of(parts[i], modes >> i & 1);
}

void drive(Driver *d) {
  Masked *masked;
  Net *net = new_net(d, &masked);
  set_modes(net, (int)driver_number(d, "modes"));
  FyTensor *plain = predict(net, driver_tensor(d, "x"));
  driver_put_number(d, "modes after predict", modes(net));
  driver_put_number(d, "calls", (double)masked->calls);
  driver_put(d, "plain", plain);
  masked->calls = masked->dropped = 0;
  set_modes(net, (int)driver_number(d, "modes"));
  FyTensor *mean = mean_with_dropout(net, driver_tensor(d, "x"), (int)driver_number(d, "passes"));
  driver_put_number(d, "modes after", modes(net));
  driver_put_number(d, "passes made", (double)masked->calls);
  driver_put_number(d, "most rows", (double)most_rows);
  driver_put(d, "mean", mean);
  FyTensorList *buffers = fy_buffers(net->norm);
  driver_put(d, "running mean after", buffers->items[0]);
  driver_put(d, "running var after", buffers->items[1]);
}
