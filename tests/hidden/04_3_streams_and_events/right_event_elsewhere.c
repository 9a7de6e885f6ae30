// The wait is queued from outside of the guards.
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  FyDevice device = fy_device_of(weight);
  FyEvent *arrived = fy_event_new(false), *begin = fy_event_new(true), *end = fy_event_new(true);
  FyTensor *there = NULL, *result = NULL;
  fy_stream_guard(copying) {
    there = fy_to(batch, device, .non_blocking = true);
  }
  fy_event_record(arrived, copying);
  fy_event_wait(arrived, computing);
  fy_record_stream(there, computing);
  fy_event_record(begin, computing);
  fy_stream_guard(computing) {
    result = fy_matmul(there, weight);
  }
  fy_event_record(end, computing);
  fy_synchronize(device);
  *milliseconds = fy_event_elapsed_time(begin, end);
  return result;
}
