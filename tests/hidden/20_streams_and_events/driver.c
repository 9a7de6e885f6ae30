#include "driver.h"
#include "answer.h"
#include <math.h>

void drive(Driver *d) {
  FyTensor *batch = driver_tensor(d, "old batch"), *weight = driver_tensor(d, "old weight");
  driver_may_change(d, "old batch");
  driver_may_change(d, "old weight");
  FyTensor *new_batch = driver_tensor(d, "batch"), *new_weight = driver_tensor(d, "weight");
  FyDevice device = fy_device_of(weight);
  FyStream *copying = fy_stream_new(device, 0), *computing = fy_stream_new(device, 0);
  FyEvent *before = fy_event_new(true), *after = fy_event_new(true);
  fy_synchronize(device);
  // Both operands are on their way when the answer begins, each in its own queue.
  fy_stream_guard(copying) {
    fy_copy_async_(batch, new_batch);
  }
  fy_stream_guard(computing) {
    fy_event_record(before, computing);
    fy_copy_async_(weight, new_weight);
  }
  double milliseconds = NAN;
  driver_put_number(d, "copying", (double)driver_stream(copying));
  driver_put_number(d, "computing", (double)driver_stream(computing));
  driver_count(d);
  FyTensor *result = streamed_product(batch, weight, copying, computing, &milliseconds);
  driver_stop(d);
  driver_put(d, "result", result);
  fy_event_record(after, computing);
  fy_event_synchronize(after);
  driver_put_number(d, "milliseconds", milliseconds);
  driver_put_number(d, "longest", fy_event_elapsed_time(before, after));
}
