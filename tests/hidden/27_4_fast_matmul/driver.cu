// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"

void drive(Driver *d) {
  const float *a = (const float *)driver_device(d, "a"), *b = (const float *)driver_device(d, "b");
  const Array *left = driver_array(d, "a"), *right = driver_array(d, "b");
  const int m = (int)left->shape.size[0], k = (int)left->shape.size[1], n = (int)right->shape.size[1];
  Shape shape = {2, {m, n}};
  float *c = (float *)driver_device_new(d, "c", FY_FLOAT32, shape);
  driver_count(d);
  product_on_device(c, a, b, m, n, k);
  driver_put_device(d, "c");
}
