// mistake: result copied back to the CPU
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  FyEvent *copied = fy_event_new(false), *begin = fy_event_new(true), *end = fy_event_new(true);
  FyTensor *x = NULL, *result = NULL;
  fy_stream_guard(copying) {
    x = fy_to(batch, fy_stream_device(copying), .non_blocking = true);
    fy_event_record(copied, copying);
  }
  fy_stream_guard(computing) {
    fy_event_wait(copied, computing);
    fy_event_record(begin, computing);
    result = fy_matmul(x, weight);
    fy_event_record(end, computing);
    result = fy_cpu(result);
  }
  *milliseconds = fy_event_elapsed_time(begin, end);
  return result;
}
