// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *in = (const float *)driver_device(d, "in");
  const float w0 = (float)driver_number(d, "w0"), w1 = (float)driver_number(d, "w1"),
              w2 = (float)driver_number(d, "w2");
  const int rows = (int)driver_number(d, "rows"), columns = (int)driver_number(d, "columns");
  Shape size = {2, {rows, columns}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, size);
  if (driver_has(d, "empty first")) {
    stencil_on_device(out, in, w0, w1, w2, 0, columns);
    stencil_on_device(out, in, w0, w1, w2, rows, 0);
  }
  driver_count(d);
  stencil_on_device(out, in, w0, w1, w2, rows, columns);
  driver_put_device(d, "out");
}
