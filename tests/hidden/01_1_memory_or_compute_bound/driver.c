// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

enum { CASES = 48, FIELDS = 6 };

void drive(Driver *d) {
  const Array *cases = driver_array(d, "cases"), *at = driver_array(d, "intensity"),
              *limits = driver_array(d, "machine");
  const Machine machine = {limits->f64[0], limits->f64[1]};
  double elementwise[CASES], product[CASES], best[CASES];
  int64_t waits[CASES];
  for (int64_t i = 0; i < CASES; i++) {
    const int64_t *c = cases->i64 + i * FIELDS;
    elementwise[i] = elementwise_intensity((int)c[0], (int)c[1], (int)c[5]);
    product[i] = product_intensity((int)c[2], (int)c[3], (int)c[4], (int)c[5]);
    best[i] = best_flops(&machine, at->f64[i]);
    waits[i] = waits_for_memory(&machine, at->f64[i]);
  }
  driver_put_array(d, "elementwise", FY_FLOAT64, shape(CASES), elementwise);
  driver_put_array(d, "product", FY_FLOAT64, shape(CASES), product);
  driver_put_array(d, "best", FY_FLOAT64, shape(CASES), best);
  driver_put_array(d, "waits", FY_INT64, shape(CASES), waits);
}
