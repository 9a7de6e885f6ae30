// mistake: cached event or tensor
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  static FyTensor *there;
  FyEvent *copied = fy_event_new(false), *begin = fy_event_new(true), *end = fy_event_new(true);
  FyTensor *result = NULL;
  if (!there)
    there = fy_retain(fy_empty(fy_size(batch), .device = fy_stream_device(copying)));
  fy_stream_guard(copying) {
    fy_copy_async_(there, batch);
    fy_event_record(copied, copying);
  }
  fy_stream_guard(computing) {
    fy_event_wait(copied, computing);
    fy_record_stream(there, computing);
    fy_event_record(begin, computing);
    result = fy_matmul(there, weight);
    fy_event_record(end, computing);
  }
  fy_event_synchronize(end);
  *milliseconds = fy_event_elapsed_time(begin, end);
  return result;
}
