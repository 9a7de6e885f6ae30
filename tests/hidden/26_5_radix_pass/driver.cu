// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const unsigned int *keys = (const unsigned int *)driver_device(d, "keys");
  const int *values = (const int *)driver_device(d, "values");
  int n = (int)driver_number(d, "n");
  Shape size = {1, {n}}, space = {1, {4 * n + 65536}};
  unsigned int *out_keys = (unsigned int *)driver_device_new(d, "out_keys", FY_INT32, size);
  int *out_values = (int *)driver_device_new(d, "out_values", FY_INT32, size);
  int *scratch = (int *)driver_device_new(d, "scratch", FY_INT32, space);
  int shift = (int)driver_number(d, "shift");
  if (driver_has(d, "none first"))
    radix_pass_on_device(out_keys, out_values, keys, values, scratch, shift, 0);
  driver_count(d);
  radix_pass_on_device(out_keys, out_values, keys, values, scratch, shift, n);
  driver_put_device(d, "out_keys");
  driver_put_device(d, "out_values");
  driver_put_device(d, "scratch");
}
