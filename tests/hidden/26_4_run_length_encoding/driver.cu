// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const int *x = (const int *)driver_device(d, "x");
  int n = (int)driver_number(d, "n");
  Shape size = {1, {n}}, space = {1, {n + 2048}}, one = {1, {1}};
  int *values = (int *)driver_device_new(d, "values", FY_INT32, size);
  int *lengths = (int *)driver_device_new(d, "lengths", FY_INT32, size);
  int *count = (int *)driver_device_new(d, "count", FY_INT32, one);
  int *scratch = (int *)driver_device_new(d, "room", FY_INT32, space);
  driver_count(d);
  runs_on_device(values, lengths, count, x, scratch, n);
  driver_put_device(d, "count");
  driver_put_device(d, "values");
  driver_put_device(d, "lengths");
  driver_put_device(d, "room");
}
