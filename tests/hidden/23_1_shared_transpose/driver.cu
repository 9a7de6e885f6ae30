// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const Array *matrix = driver_array(d, "in");
  int64_t rows = matrix->shape.size[0], columns = matrix->shape.size[1];
  const float *in = (const float *)driver_device(d, "in");
  Shape transposed = {2, {columns, rows}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, transposed);
  driver_count(d);
  transpose_on_device(out, in, (int)rows, (int)columns);
  driver_put_device(d, "out");
}
