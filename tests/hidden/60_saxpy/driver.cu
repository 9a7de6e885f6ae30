#include "driver.h"
#include "answer.h"
#include <string.h>

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  float *y = (float *)driver_device(d, "y");
  int n = (int)driver_array(d, "x")->count;
  driver_count(d);
  if (strcmp(driver_test(d), "no elements, then some") == 0)
    saxpy_on_device(y, x, 2, 0);
  saxpy_on_device(y, x, (float)driver_number(d, "a"), n);
  driver_put_device(d, "y");
}
