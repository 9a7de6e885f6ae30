// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *rgb = (const float *)driver_device(d, "rgb");
  const int pixels = (int)driver_number(d, "pixels");
  Shape all = {1, {pixels}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, all);
  driver_count(d);
  gray_on_device(out, rgb, pixels);
  driver_put_device(d, "out");
}
