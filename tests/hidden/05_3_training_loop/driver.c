// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// Linear, ReLU, Linear on the CPU, with the check's weights.
static FyModule *model_as_given(Driver *d) {
  static const char *const names[] = {"w1", "b1", "w2", "b2"};
  FySize first = fy_size(driver_tensor(d, "w1")), second = fy_size(driver_tensor(d, "w2"));
  FyModule *model = fy_nn_sequential(fy_nn_linear((int)first.dim[1], (int)first.dim[0]), fy_nn_relu(),
                                     fy_nn_linear((int)second.dim[1], (int)second.dim[0]));
  FyTensorList *parameters = fy_parameters(model);
  fy_no_grad {
    for (int i = 0; i < parameters->count; i++)
      fy_copy_(parameters->items[i], driver_tensor(d, names[i]));
  }
  return model;
}

void drive(Driver *d) {
  // The only references: an answer that drops them frees the caller's tensors.
  FyTensor *x = fy_detach(driver_tensor(d, "x")), *y = fy_detach(driver_tensor(d, "y"));
  int64_t steps = (int64_t)driver_number(d, "steps");
  FyModule *model = model_as_given(d), *again = model_as_given(d);
  driver_module(model);
  driver_count(d);
  FyDevice device = fy_device(driver_text(d, "device"));
  FyTensor *volatile losses = NULL;
  FyError error;
  fy_trap(error) {
    losses = train(model, x, y, device, steps);
  }
  driver_stop(d);
  FyTensorList *trained = fy_parameters(model);
  int there = 0;
  for (int i = 0; i < trained->count; i++)
    there += fy_device_equal(fy_device_of(trained->items[i]), device);
  driver_put_number(d, "parameters there", there);
  if (error.kind)
    fy_raise_again(&error);
  driver_put(d, "losses", losses);
  driver_put(d, "0.weight", trained->items[0]);
  driver_put(d, "0.bias", trained->items[1]);
  driver_put(d, "2.weight", trained->items[2]);
  driver_put(d, "2.bias", trained->items[3]);
  fy_clone(x), fy_clone(y); // raises an error if it was freed
  if (driver_has(d, "second device")) {
    FyTensor *second = train(again, x, y, fy_device(driver_text(d, "second device")), steps);
    fy_clone(x), fy_clone(y);
    driver_put(d, "second losses", second);
  }
}
