// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *dy = (const float *)driver_device(d, "dy"), *x = (const float *)driver_device(d, "x");
  const float *gamma = (const float *)driver_device(d, "gamma"), *mean = (const float *)driver_device(d, "mean");
  const float *rstd = (const float *)driver_device(d, "rstd");
  int rows = (int)driver_number(d, "rows"), columns = (int)driver_number(d, "columns");
  Shape matrix = {2, {rows, columns}}, line = {1, {columns}};
  float *dx = (float *)driver_device_new(d, "dx", FY_FLOAT32, matrix);
  float *dgamma = (float *)driver_device_new(d, "dgamma", FY_FLOAT32, line);
  float *dbeta = (float *)driver_device_new(d, "dbeta", FY_FLOAT32, line);
  driver_count(d);
  layer_norm_backward_on_device(dx, dgamma, dbeta, dy, x, gamma, mean, rstd, rows, columns);
  driver_put_device(d, "dx");
  driver_put_device(d, "dgamma");
  driver_put_device(d, "dbeta");
}
