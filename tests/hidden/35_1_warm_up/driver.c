// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <stdlib.h>

void drive(Driver *d) {
  const Array *step = driver_array(d, "step");
  double *rate = malloc((size_t)step->count * sizeof *rate);
  fy_check(rate, FY_OUT_OF_MEMORY_ERROR, "no memory for the rates");
  for (int64_t i = 0; i < step->count; i++)
    rate[i] = learning_rate(step->i64[i], (int64_t)driver_number(d, "warmup"), (int64_t)driver_number(d, "steps"),
                            driver_number(d, "top"), driver_number(d, "low"));
  driver_put_array(d, "rate", FY_FLOAT64, step->shape, rate);
  free(rate);
}
