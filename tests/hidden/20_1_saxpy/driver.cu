// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

// For arrays that are too large to send, and too large for the device memory of the kernel tests. They are in managed memory, all
// elements are equal, and only some of them are sent back.
static float *filled(int n, float value) {
  float *memory = NULL;
  cudaMallocManaged((void **)&memory, (size_t)n * sizeof *memory);
  for (int i = 0; memory && i < n; i++)
    memory[i] = value;
  return memory;
}

static void drive_huge(Driver *d) {
  const Array *places = driver_array(d, "places");
  const int n = (int)driver_number(d, "huge");
  float *x = filled(n, (float)driver_number(d, "x")), *y = filled(n, (float)driver_number(d, "y")), found[256];
  driver_count(d);
  saxpy_on_device(y, x, (float)driver_number(d, "a"), n);
  cudaDeviceSynchronize();
  driver_stop(d);
  for (int64_t i = 0; i < places->count && i < 256; i++)
    found[i] = y[places->i64[i]];
  driver_put_array(d, "y", FY_FLOAT32, places->shape, found);
}

void drive(Driver *d) {
  if (driver_has(d, "huge")) {
    drive_huge(d);
    return;
  }
  const float *x = (const float *)driver_device(d, "x");
  float *y = (float *)driver_device(d, "y");
  int n = (int)driver_array(d, "x")->count;
  driver_count(d);
  if (strcmp(driver_test(d), "no elements, then some") == 0)
    saxpy_on_device(y, x, 2, 0);
  saxpy_on_device(y, x, (float)driver_number(d, "a"), n);
  driver_put_device(d, "y");
}
