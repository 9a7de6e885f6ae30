// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

#ifdef FERRY_SIM
static long long products, refused; // by lanes

extern "C" void note_product(void) {
  __atomic_fetch_add(&products, 1, __ATOMIC_RELAXED);
}
extern "C" void note_fragment(bool accepted) {
  if (!accepted)
    __atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
}
#endif

void drive(Driver *d) {
  const half *a = (const half *)driver_device(d, "a"), *b = (const half *)driver_device(d, "b");
  const int m = (int)driver_number(d, "m"), n = (int)driver_number(d, "n"), k = (int)driver_number(d, "k");
  Shape shape = {2, {m, n}};
  float *c = (float *)driver_device_new(d, "c", FY_FLOAT32, shape);
  driver_count(d);
  matmul_on_device(c, a, b, m, n, k);
  driver_put_device(d, "c");
#ifdef FERRY_SIM
  driver_put_number(d, "fragment products", (double)(products / 32));
  driver_put_number(d, "refused fragments", (double)refused);
  products = refused = 0; // for the next call
#endif
}
