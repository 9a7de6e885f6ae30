// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  FyTensor *weight = driver_tensor(d, "weight"), *bias = driver_tensor(d, "bias");
  FyTensor *x = driver_tensor(d, "x"), *target = driver_tensor(d, "target");
  double lr = driver_number(d, "lr");
  driver_may_change(d, "weight");
  driver_may_change(d, "bias");
  driver_count(d);
  FyTensor *first = training_step(weight, bias, x, target, lr);
  driver_put_number(d, "recording after the first", fy_is_grad_enabled());
  FyTensor *second = training_step(weight, bias, x, target, lr);
  driver_stop(d);
  driver_put(d, "weight", weight);
  driver_put(d, "bias", bias);
  driver_put(d, "first loss", first);
  driver_put(d, "second loss", second);
  driver_put(d, "weight.grad", fy_grad(weight));
  driver_put(d, "bias.grad", fy_grad(bias));
}
