// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  float *x = (float *)driver_device(d, "x");
  const Array *values = driver_array(d, "x");
  int *who = (int *)driver_device_new(d, "who", FY_INT32, values->shape);
  int blocks = (int)driver_number(d, "blocks"), threads = (int)driver_number(d, "threads");
  float a = (float)driver_number(d, "a"), b = (float)driver_number(d, "b");
  if (driver_has(d, "none first"))
    affine_on_device(x, who, 2 * a, b + 1, 0, blocks + 1, threads + 32);
  driver_count(d);
  affine_on_device(x, who, a, b, (int)values->count, blocks, threads);
  driver_put_device(d, "x");
  driver_put_device(d, "who");
}
