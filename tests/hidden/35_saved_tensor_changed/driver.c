#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  FyTensor *x = driver_tensor(d, "x"), *weight = driver_tensor(d, "weight"), *target = driver_tensor(d, "target");
  driver_count(d);
  FyTensor *loss = loss_of(x, weight, target);
  driver_stop(d);
  driver_put(d, "loss", loss);
  driver_put(d, "x", x);
  driver_put(d, "weight", weight);
  driver_put(d, "target", target);
  if (!loss)
    return;
  fy_backward(loss);
  if (fy_grad(weight))
    driver_put(d, "weight.grad", fy_grad(weight));
  if (fy_grad(x))
    driver_put(d, "x.grad", fy_grad(x));
}
