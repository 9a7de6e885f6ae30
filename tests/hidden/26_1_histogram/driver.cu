// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const int *x = (const int *)driver_device(d, "x");
  int64_t bins = (int64_t)driver_number(d, "bins");
  Shape size = {1, {bins}};
  unsigned int *counts = (unsigned int *)driver_device_new(d, "counts", FY_INT32, size);
  driver_count(d);
  histogram_on_device(counts, x, (int)driver_array(d, "x")->count, (int)bins);
  driver_put_device(d, "counts");
}
