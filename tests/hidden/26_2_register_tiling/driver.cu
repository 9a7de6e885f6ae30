// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
static long long loads, fetches;

extern "C" void note_load(void) {
  __atomic_fetch_add(&loads, 1, __ATOMIC_RELAXED);
}
extern "C" void note_fetch(void) {
  __atomic_fetch_add(&fetches, 1, __ATOMIC_RELAXED);
}

static void put_notes(Driver *d) {
  driver_put_number(d, "loads", (double)loads);
  driver_put_number(d, "fetches", (double)fetches);
  loads = fetches = 0; // for the next call
}
#else // a GPU does not tell
static void put_notes(Driver *) {
}
#endif

void drive(Driver *d) {
  int64_t m = (int64_t)driver_number(d, "m"), n = (int64_t)driver_number(d, "n"), k = (int64_t)driver_number(d, "k");
  const float *a = (const float *)driver_device(d, "a"), *b = (const float *)driver_device(d, "b");
  Shape result = {2, {m, n}};
  float *c = (float *)driver_device_new(d, "c", FY_FLOAT32, result);
  driver_count(d);
  matmul_on_device(c, a, b, (int)m, (int)n, (int)k);
  driver_put_device(d, "c");
  put_notes(d);
}
