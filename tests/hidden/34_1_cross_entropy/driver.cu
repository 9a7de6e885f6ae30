// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *logits = (const float *)driver_device(d, "logits");
  const int *target = (const int *)driver_device(d, "target");
  int rows = (int)driver_number(d, "rows"), classes = (int)driver_number(d, "classes");
  float *loss = (float *)driver_device_new(d, "loss", FY_FLOAT32, Shape{1, {rows}});
  float *gradient = (float *)driver_device_new(d, "gradient", FY_FLOAT32, Shape{2, {rows, classes}});
  if (driver_has(d, "none first"))
    cross_entropy_on_device(loss, gradient, logits, target, 0, classes);
  driver_count(d);
  cross_entropy_on_device(loss, gradient, logits, target, rows, classes);
  driver_put_device(d, "loss");
  driver_put_device(d, "gradient");
}
