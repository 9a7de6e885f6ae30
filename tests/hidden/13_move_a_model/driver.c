#include "driver.h"
#include "answer.h"

// Gives the parameters the values of the check, if they are what it expects.
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

void drive(Driver *d) {
  FyDevice device = fy_device(driver_text(d, "device"));
  FyModule *model = simple_net((int)driver_number(d, "in_features"), (int)driver_number(d, "out_features"));
  if (!model) {
    driver_put(d, "output", NULL);
    return;
  }
  FyTensorList *parameters = fy_parameters(model);
  if (!fill(d, parameters))
    return;
  fy_module_to(model, fy_device(driver_text(d, "starts on")));
  FyError error;
  FyTensor *volatile output = NULL;
  driver_count(d);
  fy_trap(error) {
    output = run_on(model, device, (int64_t)driver_number(d, "batch"), (int64_t)driver_number(d, "in_features"));
  }
  driver_stop(d);
  driver_put_text(d, "weight is on", fy_device_name_of(fy_device_of(parameters->items[0])));
  driver_put_text(d, "bias is on", fy_device_name_of(fy_device_of(parameters->items[1])));
  if (error.kind)
    fy_raise_again(&error);
  driver_put(d, "output", output);
}
