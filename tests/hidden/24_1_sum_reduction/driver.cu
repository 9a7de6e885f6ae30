// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x") + (int)driver_number(d, "elements before x");
  Shape one = {1, {1}}, many = {1, {1024}};
  float *sum = (float *)driver_device_new(d, "sum", FY_FLOAT32, one);
  float *partial = (float *)driver_device_new(d, "partial", FY_FLOAT32, many);
  if (driver_has(d, "before"))
    sum_on_device(sum, x, partial, (int)driver_number(d, "before"));
  driver_count(d);
  sum_on_device(sum, x, partial, (int)driver_number(d, "n"));
  driver_put_device(d, "sum");
  driver_put_device(d, "partial");
}
