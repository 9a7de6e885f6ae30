// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdio.h>
#include <string.h>

// "gain mean std": the names of a list, in its order.
static void put_names(Driver *d, const char *what, const FyTensorList *list) {
  char text[512] = "";
  size_t used = 0;
  for (int i = 0; i < list->count && used < sizeof text; i++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? " " : "", list->names[i]);
  driver_put_text(d, what, text);
}

static void put_state(Driver *d, FyModule *module) {
  FyTensorList *state = fy_state_dict(module);
  const char *learns = NULL;
  put_names(d, "parameters", fy_parameters(module));
  put_names(d, "buffers", fy_buffers(module));
  put_names(d, "state", state);
  for (int i = 0; i < fy_buffers(module)->count; i++)
    if (fy_requires_grad(fy_buffers(module)->items[i]))
      learns = fy_buffers(module)->names[i];
  if (learns)
    driver_put_text(d, "learns", learns);
  for (int i = 0; i < state->count; i++)
    if (strcmp(state->names[i], "mean") == 0 || strcmp(state->names[i], "std") == 0)
      driver_put(d, state->names[i], state->items[i]);
}

// Loads other values for all tensors of the module.
static void load_state(Driver *d, FyModule *module) {
  FyTensorList *state = fy_tensor_list_new();
  fy_list_add(state, "gain", driver_tensor(d, "gain"));
  fy_list_add(state, "mean", driver_tensor(d, "loaded mean"));
  fy_list_add(state, "std", driver_tensor(d, "loaded std"));
  fy_load_state_dict(module, state);
}

// Uses mean and std after their module is freed, and measures the memory that is still allocated.
static void put_ended(Driver *d) {
  double before = (double)fy_memory_stats(FY_CPU_DEVICE).allocated;
  fy_scope {
    FyTensor *mean = fy_clone(driver_tensor(d, "mean")), *std = fy_clone(driver_tensor(d, "std"));
    FyTensor *x = fy_ones(fy_shape(2, fy_numel(mean)));
    fy_scope {
      fy_forward(scaler(mean, std), x);
    }
    fy_clone(mean), fy_clone(std); // raises an error if one was freed
  }
  driver_put_number(d, "still allocated", (double)fy_memory_stats(FY_CPU_DEVICE).allocated - before);
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x");
  FyDevice device = fy_device_of(x);
  FyModule *module = scaler(fy_clone(driver_tensor(d, "mean")), fy_clone(driver_tensor(d, "std")));
  driver_put_number(d, "made", module != NULL);
  if (!module)
    return;
  fy_module_to(module, device);
  put_state(d, module);
  if (fy_parameters(module)->count > 0) {
    fy_no_grad {
      fy_copy_(fy_parameters(module)->items[0], driver_tensor(d, "gain"));
    }
  }
  fy_no_grad {
    driver_put(d, "result before", fy_forward(module, fy_clone(x)));
  }
  FyModule *beside = scaler(fy_zeros(fy_size(driver_tensor(d, "mean"))), fy_ones(fy_size(driver_tensor(d, "mean"))));
  fy_module_to(beside, device); // a second module, created later
  FyTensor *again = fy_detach(fy_clone(x));
  driver_count(d);
  FyTensor *result = fy_forward(module, x);
  fy_forward(module, again);
  driver_stop(d);
  driver_put(d, "result", result);
  driver_put_number(d, "recorded", fy_requires_grad(result));
  if (fy_requires_grad(result)) {
    fy_backward(result, .gradient = driver_tensor(d, "gradient"));
    driver_put(d, "x.grad", fy_grad(x));
    driver_put(d, "gain.grad", fy_parameters(module)->count ? fy_grad(fy_parameters(module)->items[0]) : NULL);
  }
  load_state(d, module);
  driver_put(d, "result after loading", fy_forward(module, x));
  put_ended(d);
}
