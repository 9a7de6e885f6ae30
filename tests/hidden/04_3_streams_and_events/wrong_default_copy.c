// mistake: copy on the wrong stream
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  FyDevice device = fy_stream_device(copying);
  FyEvent *copied = fy_event_new(false), *begin = fy_event_new(true), *end = fy_event_new(true);
  FyTensor *there = fy_to(batch, device, .non_blocking = true), *result = NULL;
  fy_event_record(copied, fy_current_stream(device));
  fy_stream_guard(computing) {
    fy_event_wait(copied, computing);
    fy_event_record(begin, computing);
    result = fy_matmul(there, weight);
    fy_event_record(end, computing);
  }
  fy_event_synchronize(end);
  *milliseconds = fy_event_elapsed_time(begin, end);
  return result;
}
