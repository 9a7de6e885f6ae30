// SPDX-License-Identifier: MIT
#include "driver.h"
#include "answer.h"
#include "event_trace_sim.h"
#include <stdlib.h>

// Enqueues the work that writes x (on `first`) and the work that sets sum to 0 (on `second`).
static void queue_inputs(float *x, const float *from, size_t bytes, float *sum, size_t sum_bytes, cudaStream_t first,
                         cudaStream_t second) {
  cudaMemcpyAsync(x, from, bytes, cudaMemcpyHostToDevice, first);
  cudaMemsetAsync(sum, 0, sum_bytes, second);
}

void drive(Driver *d) {
  const Array *given = driver_array(d, "x");
  const int batches = (int)given->shape.size[0], n = (int)given->shape.size[1];
  const Shape row = {1, {n}};
  const size_t bytes = (size_t)n * sizeof(float);
  float *x = (float *)driver_device_new(d, "all of x", FY_FLOAT32, given->shape);
  float *scaled = (float *)driver_device_new(d, "scaled", FY_FLOAT32, row);
  float *sum = (float *)driver_device_new(d, "sum on the device", FY_FLOAT32, row);
  float *pinned = NULL, *host = NULL;
  cudaStream_t first, second;
  cudaMallocHost(&pinned, batches * bytes);
  cudaMallocHost(&host, bytes);
  for (int64_t i = 0; i < given->count; i++)
    pinned[i] = given->f32[i];
  cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
  cudaDeviceSynchronize();
  queue_inputs(x, pinned, batches * bytes, sum, bytes, first, second);
  driver_count(d);
  trace_follow(true);
  sums_on_device(sum, scaled, x, batches, n, first, second);
  trace_follow(false);
  driver_stop(d);
  trace_put(d);
  cudaMemcpyAsync(host, sum, bytes, cudaMemcpyDeviceToHost, second);
  cudaStreamSynchronize(second);
  driver_put_array(d, "sum", FY_FLOAT32, row, host);
  cudaDeviceSynchronize();
  driver_put_device(d, "sum on the device");
}
