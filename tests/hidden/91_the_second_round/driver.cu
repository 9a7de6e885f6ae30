#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *x = (const float *)driver_device(d, "x");
  int pieces = (int)driver_number(d, "pieces");
  Shape shape = {1, {256 * pieces}};
  float *out = (float *)driver_device_new(d, "out", FY_FLOAT32, shape);
  driver_count(d);
  reverse_on_device(out, x, pieces);
  driver_put_device(d, "out");
}
