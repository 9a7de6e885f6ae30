// Streams wait for streams, current ones are set by hand, and the whole stream is waited for.
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  FyStream *around = fy_current_stream(fy_stream_device(copying));
  FyTensor *there = fy_empty(fy_size(batch), .device = fy_device_of(weight));
  FyEvent *marks[2] = {fy_event_new(true), fy_event_new(true)};
  int current = fy_cuda_current_device();
  fy_set_stream(copying);
  fy_copy_async_(there, batch);
  fy_set_stream(computing);
  fy_stream_wait_stream(computing, copying);
  fy_event_record(marks[0], NULL); // the current stream
  FyTensor *result = fy_matmul(there, weight);
  fy_event_record(marks[1], NULL);
  fy_set_stream(around);
  fy_cuda_set_device(current);
  fy_stream_synchronize(computing);
  *milliseconds = fy_event_elapsed_time(marks[0], marks[1]);
  return result;
}
