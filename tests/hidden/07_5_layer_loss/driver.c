// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

// With other values, and on another device if there is one.
static void earlier_call(FyTensor *x, FyTensor *weight, FyTensor *target) {
  FyDevice other = driver_other_gpu(x);
  FyTensor *moved[2] = {fy_to(fy_neg(fy_detach(x)), other), fy_to(fy_clone(fy_detach(weight)), other)};
  for (int i = 0; i < 2; i++)
    fy_set_requires_grad(moved[i], true);
  FyTensor *loss = loss_of(moved[0], moved[1], fy_to(fy_detach(target), other));
  if (loss)
    fy_backward(loss);
}

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *weight = driver_tensor(d, "weight"), *target = driver_tensor(d, "target");
  fy_scope {
    earlier_call(x, weight, target);
  }
  driver_put_number(d, "called before", 1);
  driver_count(d);
  FyTensor *loss = loss_of(x, weight, target);
  driver_stop(d);
  driver_put(d, "loss", loss);
  if (!loss)
    return;
  fy_backward(loss);
  if (fy_grad(weight))
    driver_put(d, "weight.grad", fy_grad(weight));
  if (fy_grad(x))
    driver_put(d, "x.grad", fy_grad(x));
}
