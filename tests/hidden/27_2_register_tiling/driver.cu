// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  int64_t m = (int64_t)driver_number(d, "m"), n = (int64_t)driver_number(d, "n"), k = (int64_t)driver_number(d, "k");
  const float *a = (const float *)driver_device(d, "a"), *b = (const float *)driver_device(d, "b");
  Shape result = {2, {m, n}};
  float *c = (float *)driver_device_new(d, "c", FY_FLOAT32, result);
  driver_count(d);
  matmul_on_device(c, a, b, (int)m, (int)n, (int)k);
  driver_put_device(d, "c");
}
