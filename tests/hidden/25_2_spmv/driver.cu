// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
static long long missing;

extern "C" void note_lanes(unsigned int mask, unsigned int present) {
  if (present != mask)
    __atomic_fetch_add(&missing, 1, __ATOMIC_RELAXED);
}
#endif

void drive(Driver *d) {
  const int *offsets = (const int *)driver_device(d, "offsets"), *columns = (const int *)driver_device(d, "columns");
  const float *values = (const float *)driver_device(d, "values"), *x = (const float *)driver_device(d, "x");
  const float alpha = (float)driver_number(d, "alpha"), beta = (float)driver_number(d, "beta");
  const int rows = (int)driver_number(d, "rows"), count = (int)driver_number(d, "count");
  Shape each = {1, {rows}};
  float *y = (float *)(beta == 0 ? driver_device_new(d, "y", FY_FLOAT32, each) : driver_device(d, "y"));
  if (driver_has(d, "none first"))
    spmv_on_device(y, offsets, columns, values, x, alpha, beta, 0, 0);
  driver_count(d);
  spmv_on_device(y, offsets, columns, values, x, alpha, beta, rows, count);
  driver_put_device(d, "y");
#ifdef FERRY_SIM
  driver_put_number(d, "lanes missing", (double)missing);
  missing = 0; // for the next call
#endif
}
