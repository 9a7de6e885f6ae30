// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  int chunks = (int)driver_number(d, "chunks");
  Shape shape = {1, {256 * chunks}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, shape);
  Shape chunk = {1, {256}};
  float *one = (float *)driver_device_new(d, "one chunk", FY_FLOAT32, chunk);
  reverse_on_device(one, x, 1);
  driver_count(d);
  reverse_on_device(out, x, chunks);
  driver_put_device(d, "out");
  driver_put_device(d, "one chunk");
}
