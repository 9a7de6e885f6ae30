// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const int *x = (const int *)driver_device(d, "x");
  int n = (int)driver_number(d, "n");
  Shape size = {1, {n}}, space = {1, {2048}};
  int *out = (int *)driver_device_new(d, "out", FY_INT32, size);
  int *room = (int *)driver_device_new(d, "room", FY_INT32, space);
  if (driver_has(d, "none first"))
    scan_on_device(out, x, room, 0);
  driver_count(d);
  scan_on_device(out, x, room, n);
  driver_put_device(d, "out");
  driver_put_device(d, "room");
}
