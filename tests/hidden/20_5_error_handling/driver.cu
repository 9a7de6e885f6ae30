// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include <cuda_runtime.h>

__global__ void busy(float *sum, int steps) {
  float x = 1;
  for (int i = 0; i < steps; i++)
    x = x * 0.999f + 0.001f;
  *sum = x;
}

void drive(Driver *d) {
  const int blocks = (int)driver_number(d, "blocks"), threads = (int)driver_number(d, "threads");
  int *out = (int *)driver_device_new(d, "out", FY_INT32, driver_array(d, "size")->shape);
  int before = -1, launch = -1, kernel = -1;
  float *sum = NULL;
  cudaMalloc(&sum, sizeof *sum);
  if (driver_number(d, "stale") == cudaErrorInvalidConfiguration)
    busy<<<1, 4096>>>(sum, 1); // more threads than a block may have: an error that is still pending
  if (driver_number(d, "stale") == cudaErrorInvalidDevice)
    cudaSetDevice(-1);
  busy<<<1, 1>>>(sum, 20000000); // without a synchronization, the kernel `mark` has not run
  driver_count(d);
  mark_on_device(driver_number(d, "null") != 0 ? NULL : out, (int)driver_number(d, "value"), blocks, threads, &before,
                 &launch, &kernel);
  driver_stop(d);
  driver_put_number(d, "before", before);
  driver_put_number(d, "launch", launch);
  driver_put_number(d, "kernel", kernel);
  driver_put_number(d, "left behind", cudaGetLastError());
  if (driver_number(d, "null") == 0)
    driver_put_device(d, "out");
}
