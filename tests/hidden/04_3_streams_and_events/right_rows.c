// missing star: several transfers
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  FyEvent *copied = fy_event_new(false), *begin = fy_event_new(true), *end = fy_event_new(true);
  FyTensor *there = NULL, *result = NULL;
  fy_stream_guard(copying) {
    there = fy_empty(fy_size(batch), .device = fy_stream_device(copying));
    for (int64_t i = 0; i < fy_size(batch).dim[0]; i++)
      fy_copy_async_(fy_select(there, 0, i), fy_select(batch, 0, i));
    fy_event_record(copied, copying);
  }
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
