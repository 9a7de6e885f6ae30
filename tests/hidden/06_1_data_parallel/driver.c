// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 16 };
static const char *const names[] = {"conv1.weight", "conv1.bias", "fc.weight", "fc.bias"};

static bool same_size(FyTensor *a, FyTensor *b) {
  bool same = fy_dim(a) == fy_dim(b);
  for (int i = 0; same && i < fy_dim(a); i++)
    same = fy_size_at(a, i) == fy_size_at(b, i);
  return same;
}

// All four parameters exist and have the right size. The first other one is reported.
static bool are_right(Driver *d, const FyTensorList *parameters) {
  for (int i = 0; i < 4; i++) {
    FyTensor *found = NULL;
    for (int k = 0; k < parameters->count; k++)
      if (strcmp(parameters->names[k], names[i]) == 0)
        found = parameters->items[k];
    if (!found || !same_size(found, driver_tensor(d, names[i]))) {
      driver_put_text(d, found ? "of another size" : "missing", names[i]);
      return false;
    }
  }
  return true;
}

static bool fill(Driver *d, const FyTensorList *parameters) {
  driver_put_number(d, "parameters", parameters->count);
  if (!are_right(d, parameters) || parameters->count != 4)
    return false;
  fy_no_grad {
    for (int i = 0; i < 4; i++)
      fy_copy_(fy_list_get(parameters, names[i]), driver_tensor(d, names[i]));
  }
  return true;
}

static void allocations(int64_t counts[MOST_DEVICES]) {
  for (int i = 0; i < fy_cuda_device_count() && i < MOST_DEVICES; i++)
    counts[i] = fy_memory_stats(fy_cuda_device(i)).allocations;
}

// A device that took part in the forward pass has allocated memory.
static FyTensor *forward(Driver *d, FyModule *model) {
  int64_t before[MOST_DEVICES], after[MOST_DEVICES];
  FyTensor *x = driver_tensor(d, "x");
  int working = 0;
  allocations(before);
  driver_count(d);
  FyTensor *output = fy_forward(model, x);
  driver_stop(d);
  allocations(after);
  for (int i = 0; i < fy_cuda_device_count() && i < MOST_DEVICES; i++)
    working += after[i] > before[i];
  driver_put_number(d, "working", working);
  return output;
}

// The largest number of rows of one convolution: each GPU runs one.
static double most_rows(FyModule *model, FyTensor *x) {
  FyProfile *profile = NULL;
  long most = 0, rows;
  fy_no_grad {
    fy_profile(profile, FY_PROFILE_CPU, .record_shapes = true) {
      fy_forward(model, x);
    }
  }
  const FyKeyAverages *all = fy_key_averages(profile, .group_by_input_shape = true);
  for (int i = 0; i < all->count; i++)
    if (strcmp(all->rows[i].key, "fy::conv2d") == 0 && sscanf(all->rows[i].input_shapes, "[[%ld", &rows) == 1)
      most = rows > most ? rows : most;
  return (double)most;
}

// The weights during on_all_devices and in two calls: zeros, and fc.bias + 8. An answer that keeps them shows it.
static void set_others(Driver *d, const FyTensorList *parameters) {
  fill(d, parameters);
  fy_no_grad {
    for (int i = 0; i < 3; i++)
      fy_zero_(fy_list_get(parameters, names[i]));
    fy_add_scalar_(fy_list_get(parameters, "fc.bias"), 8);
  }
}

static void forward_before(Driver *d, FyModule *model, const FyTensorList *parameters) {
  FyTensor *x = fy_detach(driver_tensor(d, "x"));
  int64_t rows = fy_size_at(x, 0), devices = fy_cuda_device_count(); // a row for each is enough
  set_others(d, parameters);
  fy_no_grad {
    fy_forward(model, fy_narrow(x, 0, 0, devices > 0 && devices < rows ? devices : rows));
  }
  fy_forward(model, fy_narrow(x, 0, 0, 1));
  fill(d, parameters);
}

void drive(Driver *d) {
  FyModule *cnn = simple_cnn();
  FyTensorList *parameters = cnn ? fy_parameters(cnn) : NULL;
  if (!cnn || !fill(d, parameters))
    return;
  set_others(d, parameters);
  const int before = fy_cuda_is_available() ? fy_cuda_current_device() : 0;
  if (driver_has(d, "current"))
    fy_cuda_set_device((int)driver_number(d, "current"));
  FyModule *model = on_all_devices(cnn);
  if (!model) {
    if (driver_has(d, "current"))
      fy_cuda_set_device(before);
    return;
  }
  forward_before(d, model, parameters);
  FyTensor *output = forward(d, model);
  driver_put(d, "output", output);
  driver_put_number(d, "most rows", most_rows(model, driver_tensor(d, "x")));
  fy_backward(output, .gradient = driver_tensor(d, "gradient"));
  for (int i = 0; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s.grad", names[i]);
    driver_put(d, name, fy_grad(fy_list_get(parameters, names[i])));
  }
  driver_put(d, "x.grad", fy_grad(driver_tensor(d, "x")));
}
