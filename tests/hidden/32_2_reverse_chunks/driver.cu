// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  int pieces = (int)driver_number(d, "pieces");
  Shape shape = {1, {256 * pieces}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, shape);
  Shape piece = {1, {256}};
  float *one = (float *)driver_device_new(d, "one piece", FY_FLOAT32, piece);
  reverse_on_device(one, x, 1);
  driver_count(d);
  reverse_on_device(out, x, pieces);
  driver_put_device(d, "out");
  driver_put_device(d, "one piece");
}
