// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
static long long worked[2];

extern "C" void note_work(int odd) {
  __atomic_fetch_add(&worked[odd], 1, __ATOMIC_RELAXED);
}
#endif

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  const Array *all = driver_array(d, "x");
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, all->shape);
  driver_count(d);
  two_kinds_on_device(out, x, (int)all->count);
  driver_put_device(d, "out");
#ifdef FERRY_SIM
  driver_put_number(d, "even", (double)worked[0]);
  driver_put_number(d, "odd", (double)worked[1]);
  worked[0] = worked[1] = 0; // for the next call
#endif
}
