// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

enum { ROOM = 1024 };

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  Shape room = {1, {ROOM}};
  float *out = (float *)driver_device(d, "out"), *partial = (float *)driver_device_new(d, "room", FY_FLOAT32, room);
  driver_count(d);
  sum_on_device(out, x, partial, (int)driver_array(d, "x")->count);
  driver_put_device(d, "out");
  driver_put_device(d, "room");
}
