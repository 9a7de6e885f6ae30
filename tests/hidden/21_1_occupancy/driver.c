// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

enum { FIELDS = 5 };

void drive(Driver *d) {
  const Array *cases = driver_array(d, "cases"), *limits = driver_array(d, "gpu");
  const Gpu gpu = (Gpu){(int)limits->i64[0], (int)limits->i64[1], (int)limits->i64[2],
                        (int)limits->i64[3], (int)limits->i64[4], (int)limits->i64[5]};
  const int64_t count = cases->shape.size[0];
  int64_t fit[64], number[64];
  double last[64];
  for (int64_t i = 0; i < count && i < 64; i++) {
    const int64_t *c = cases->i64 + i * FIELDS;
    fit[i] = blocks_that_fit(&gpu, (int)c[0], (int)c[1], (int)c[2]);
    number[i] = waves(&gpu, (int)c[3], (int)c[4]);
    last[i] = last_wave(&gpu, (int)c[3], (int)c[4]);
  }
  driver_put_array(d, "fit", FY_INT64, (Shape){1, {count}}, fit);
  driver_put_array(d, "waves", FY_INT64, (Shape){1, {count}}, number);
  driver_put_array(d, "last", FY_FLOAT64, (Shape){1, {count}}, last);
}
