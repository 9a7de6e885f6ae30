// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdio.h>
#include <string.h>

static const char *const names[] = {"scale", "mean", "fc.weight", "fc.bias"};

static FyTensor *find(const FyTensorList *list, const char *name) {
  for (int i = 0; i < list->count; i++)
    if (strcmp(list->names[i], name) == 0)
      return list->items[i];
  return NULL;
}

static void put_names(Driver *d, const char *what, const FyTensorList *list) {
  char text[512] = "";
  size_t used = 0;
  for (int i = 0; i < list->count && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", list->names[i]);
  driver_put_text(d, what, text);
}

static void look_at(Driver *d, FyModule *m) {
  FyTensorList *state = fy_state_dict(m);
  put_names(d, "parameters", fy_parameters(m));
  put_names(d, "buffers", fy_buffers(m));
  put_names(d, "state", state);
  driver_put(d, "first scale", find(state, "scale"));
  driver_put(d, "first mean", find(state, "mean"));
}

// Copies the check's values to the tensors of these names.
static void fill(Driver *d, FyModule *m) {
  FyTensorList *state = fy_state_dict(m);
  const char *other = NULL;
  for (int i = 0; i < 4; i++) {
    FyTensor *t = find(state, names[i]), *value = driver_tensor(d, names[i]);
    if (t && fy_numel(t) == fy_numel(value) && fy_size_at(t, 0) == fy_size_at(value, 0))
      fy_copy_(t, value);
    else if (t && !other)
      other = names[i];
  }
  if (other)
    driver_put_text(d, "of another size", other);
}

static void put_state(Driver *d, FyModule *m) {
  FyTensorList *state = fy_state_dict(m), *parameters = fy_parameters(m);
  FyTensor *mean = find(fy_buffers(m), "mean");
  driver_put_number(d, "mean learns", mean && fy_requires_grad(mean));
  for (int i = 0; i < 4; i++) {
    char name[32];
    FyTensor *parameter = find(parameters, names[i]);
    snprintf(name, sizeof name, "moved %s", names[i]);
    driver_put(d, name, find(state, names[i]));
    snprintf(name, sizeof name, "%s.grad", names[i]);
    driver_put(d, name, parameter ? fy_grad(parameter) : NULL);
  }
  driver_put(d, "x.grad", fy_grad(driver_tensor(d, "x")));
}

// Without recording, in training and in evaluation mode.
static FyTensor *forward_before(FyModule *m, FyTensor *x, bool training) {
  FyTensor *y = NULL;
  fy_no_grad {
    fy_set_training_of(m, training);
    y = fy_forward(m, x);
    fy_set_training_of(m, true);
  }
  return y;
}

void drive(Driver *d) {
  int in = (int)driver_number(d, "in_features"), out = (int)driver_number(d, "out_features");
  FyModule *m = centered_linear(in, out);
  if (!m)
    return;
  driver_put_text(d, "made", "a module");
  look_at(d, m);
  fill(d, m);
  if (driver_number(d, "loaded") != 0) {
    FyModule *other = centered_linear(in, out);
    fy_load_state_dict(other, fy_state_dict(m));
    m = other;
  }
  FyDevice device = fy_device(driver_text(d, "device"));
  FyTensor *x = driver_tensor(d, "x");
  forward_before(m, fy_cpu(fy_detach(x)), true);
  fy_module_to(m, device);
  forward_before(m, fy_detach(x), false);
  driver_put(d, "output before", forward_before(m, fy_clone(x), true));
  FyModule *beside = centered_linear(in, out); // a second module, created later
  driver_put(d, "second scale", find(fy_state_dict(beside), "scale"));
  driver_put(d, "second mean", find(fy_state_dict(beside), "mean"));
  fy_module_to(beside, device);
  driver_count(d);
  FyTensor *output = fy_forward(m, x);
  driver_stop(d);
  driver_put(d, "output", output);
  fy_backward(output, .gradient = driver_tensor(d, "gradient"));
  put_state(d, m);
}
