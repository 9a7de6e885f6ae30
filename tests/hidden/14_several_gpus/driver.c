#include "driver.h"
#include "answer.h"
#include <stdio.h>

enum { MOST_DEVICES = 16 };
static const char *const names[] = {"conv1.weight", "conv1.bias", "fc.weight", "fc.bias"};

static bool fill(Driver *d, FyTensorList *parameters) {
  driver_put_number(d, "parameters", parameters->count);
  if (parameters->count != 4)
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

// A device that took part in the forward pass has made room for something.
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

void drive(Driver *d) {
  FyModule *cnn = simple_cnn();
  FyTensorList *parameters = cnn ? fy_parameters(cnn) : NULL;
  if (!cnn || !fill(d, parameters))
    return;
  FyModule *model = on_all_devices(cnn);
  if (!model)
    return;
  FyTensor *output = forward(d, model);
  driver_put(d, "output", output);
  fy_backward(output, .gradient = driver_tensor(d, "gradient"));
  for (int i = 0; i < 4; i++) {
    char name[32];
    snprintf(name, sizeof name, "%s.grad", names[i]);
    driver_put(d, name, fy_grad(fy_list_get(parameters, names[i])));
  }
}
