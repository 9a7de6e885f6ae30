// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  int n = (int)driver_number(d, "n");
  Shape shape = {1, {n}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, shape);
  driver_count(d);
  smooth_on_device(out, x, n);
  driver_put_device(d, "out");
  smooth_on_device((float *)driver_device_new(d, "out again", FY_FLOAT32, shape), x, n);
  driver_put_device(d, "out again");
}
