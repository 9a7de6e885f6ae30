// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

static FyTensor *changes_on(Driver *d, FyDevice device) {
  return fy_full(-1, fy_shape((int64_t)driver_number(d, "steps")), .device = device);
}

// Bytes of a call that are still allocated on the device after the enclosing scope.
static double left_behind(Driver *d, FyTensor *state, FyTensor *transition, FyDevice device) {
  double before = (double)fy_memory_stats(device).allocated;
  fy_scope {
    spread(state, transition, device, changes_on(d, device));
  }
  return (double)fy_memory_stats(device).allocated - before;
}

void drive(Driver *d) {
  // The only references: an answer that drops one frees the tensor.
  FyTensor *state = fy_detach(driver_tensor(d, "state")), *transition = fy_detach(driver_tensor(d, "transition"));
  FyDevice device = fy_device(driver_text(d, "device"));
  FyTensor *changes = changes_on(d, device);
  driver_count(d);
  FyTensor *result = spread(state, transition, device, changes);
  driver_stop(d);
  driver_put(d, "result", result);
  driver_put(d, "changes", changes);
  FyTensor *same = fy_clone(transition); // the same tensor twice, with other values
  fy_mul_scalar_(same, 0);
  spread(state, same, device, changes_on(d, device));
  fy_copy_(same, transition);
  driver_put(d, "result for changed values", spread(state, same, device, changes_on(d, device)));
  driver_put_number(d, "left behind", left_behind(d, state, same, device));
  if (driver_has(d, "second device")) {
    device = fy_device(driver_text(d, "second device"));
    changes = changes_on(d, device);
    driver_put(d, "second result", spread(state, transition, device, changes));
    driver_put(d, "second changes", changes);
  }
  fy_clone(state); // raises if the tensor was freed
}
