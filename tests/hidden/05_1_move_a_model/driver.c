// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// Copies the check's values to the parameters, if their sizes fit.
static bool fill(Driver *d, FyTensorList *parameters) {
  static const char *const names[] = {"weight", "bias"};
  driver_put_number(d, "parameters", parameters->count);
  if (parameters->count != 2)
    return false;
  for (int i = 0; i < 2; i++) {
    FyTensor *value = driver_tensor(d, names[i]);
    driver_put_text(d, names[i], parameters->names[i]);
    driver_put(d, names[i], parameters->items[i]);
    if (fy_numel(value) != fy_numel(parameters->items[i]) ||
        fy_size_at(value, 0) != fy_size_at(parameters->items[i], 0))
      return false;
    fy_no_grad {
      fy_copy_(parameters->items[i], value);
    }
  }
  return true;
}

// Another model's parameters: `times` the check's values if the sizes fit, otherwise ones and zeros.
static bool fill_another(FyTensorList *parameters, int in, int out, FyTensor *const values[2], double times) {
  if (parameters->count != 2 || fy_numel(parameters->items[0]) != (int64_t)in * out ||
      fy_numel(parameters->items[1]) != out)
    return false;
  fy_no_grad {
    for (int i = 0; i < 2; i++) {
      if (fy_numel(parameters->items[i]) == fy_numel(values[i]))
        fy_copy_(parameters->items[i], fy_mul_scalar(values[i], times));
      else
        fy_fill_(parameters->items[i], i == 0);
    }
  }
  return true;
}

static FyDevice another_device(FyDevice device) {
  return device.type == FY_CPU && fy_cuda_is_available() ? fy_device("cuda:0") : FY_CPU_DEVICE;
}

// Created after the first: a model of the same sizes (`more` is 0) with the opposite values, or one of other sizes.
static FyModule *make_another(Driver *d, int more) {
  FyTensor *values[] = {driver_tensor(d, "weight"), driver_tensor(d, "bias")};
  int in = (int)driver_number(d, "in_features") + more, out = (int)driver_number(d, "out_features") + 2 * more;
  FyModule *another = simple_net(in, out);
  bool made = another && fill_another(fy_parameters(another), in, out, values, -1);
  driver_put_number(d, more ? "third of its own" : "second of its own", made);
  return made ? another : NULL;
}

void drive(Driver *d) {
  if (driver_has(d, "current"))
    fy_cuda_set_device((int)driver_number(d, "current"));
  FyDevice device = fy_device(driver_text(d, "device"));
  int in = (int)driver_number(d, "in_features"), out = (int)driver_number(d, "out_features");
  int64_t batch = (int64_t)driver_number(d, "batch");
  FyModule *model = simple_net(in, out), *second, *third;
  if (!model) {
    driver_put(d, "output", NULL);
    return;
  }
  FyTensorList *parameters = fy_parameters(model);
  if (!fill(d, parameters))
    return;
  second = make_another(d, 0);
  if (!second)
    return;
  fy_module_to(second, device);
  fy_module_to(model, fy_device(driver_text(d, "model is on")));
  FyError error;
  FyTensor *volatile output = NULL;
  driver_count(d);
  fy_trap(error) {
    output = run_on(model, device, batch, in);
  }
  driver_stop(d);
  driver_put_text(d, "weight is on", fy_device_name_of(fy_device_of(parameters->items[0])));
  driver_put_text(d, "bias is on", fy_device_name_of(fy_device_of(parameters->items[1])));
  if (error.kind)
    fy_raise_again(&error);
  driver_put(d, "output", output);
  if (!output)
    return;
  driver_put(d, "output of the second model", run_on(second, device, batch, in));
  third = make_another(d, 1);
  if (!third)
    return;
  driver_put(d, "output of a model with different sizes", run_on(third, device, batch + 1, in + 1));
  driver_put_text(d, "another device", fy_device_name_of(another_device(device)));
  driver_put(d, "output on another device", run_on(third, another_device(device), batch + 1, in + 1));
}
