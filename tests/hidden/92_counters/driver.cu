#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const unsigned char *x = (const unsigned char *)driver_device(d, "x");
  int *counts = (int *)driver_device(d, "counts");
  driver_count(d);
  count_on_device(counts, x, (int)driver_number(d, "n"));
  driver_put_device(d, "counts");
}
