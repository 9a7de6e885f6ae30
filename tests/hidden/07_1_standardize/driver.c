// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "device/runtime.h"

void drive(Driver *d) {
  // The only references: an answer that drops one frees the tensor.
  FyTensor *x = fy_detach(driver_tensor(d, "x")), *mean = fy_detach(driver_tensor(d, "mean"));
  FyTensor *std = fy_detach(driver_tensor(d, "std"));
  driver_count(d);
  FyTensor *result = standardize(x, mean, std);
  driver_stop(d);
  driver_put(d, "result", result);
  fy_clone(x), fy_clone(mean), fy_clone(std); // raises if the tensor was freed
  if (!driver_has(d, "second x"))
    return;
  FyTensor *other = fy_detach(driver_tensor(d, "second x")), *second_mean = fy_detach(driver_tensor(d, "second mean"));
  FyTensor *second_std = fy_detach(driver_tensor(d, "second std")), *volatile second = NULL;
  int64_t before = fy_counters().host_to_device;
  FyError error;
  fy_trap(error) {
    second = standardize(other, second_mean, second_std);
  }
  driver_put_number(d, "copies to a device in the second call", (double)(fy_counters().host_to_device - before));
  if (error.kind)
    fy_raise_again(&error);
  fy_clone(other), fy_clone(second_mean), fy_clone(second_std);
  driver_put(d, "second result", second);
}
