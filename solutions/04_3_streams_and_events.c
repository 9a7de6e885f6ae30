// Exercise 4.3: two streams and an event between them                             (chapter 4, docs/04_benchmarks.md)
//
// Write streamed_product. It returns batch @ weight, computed on a GPU, and measures the product with the device's own
// clock.
//
//   PyTorch:  with torch.cuda.stream(copying):
//                 there = batch.to(device, non_blocking=True)
//                 copied.record()
//             with torch.cuda.stream(computing):
//                 copied.wait()
//                 begin.record(); result = there @ weight; end.record()
//             end.synchronize()
//             milliseconds = begin.elapsed_time(end)
//
// Given: batch in pinned host memory, weight on the device of the two streams (not always the first GPU). Neither
// requires a gradient. Work is pending on both: what is queued on `copying` still writes to batch, what is queued on
// `computing` still writes to weight, out of memory that has gone back to that stream: who takes memory from
// `computing` may get it, so the copy's comes from elsewhere (the current stream is neither of the two). The copy has
// to be queued on `copying` and the product on `computing`, behind it; and the product has to wait for the copy. When
// the function returns, result is complete and *milliseconds is what fy_event_elapsed_time says of two events on
// `computing`, one right before the product (behind the wait for the copy) and one right behind it. The streams and the
// device that were current are so again. The next call may have other sizes, other streams and another GPU.
// Counted: copies to the device (one), and how often the host waits (for an event, a stream or the device): once, at
// the end. Asking again and again until an event has passed is not waiting. On the way queues wait for each other, and
// the host for neither. Nothing but the copy belongs on `copying`, nothing but the product on `computing`.
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  // [answer]
  FyEvent *copied = fy_event_new(false), *begin = fy_event_new(true), *end = fy_event_new(true);
  FyTensor *there = NULL, *result = NULL;
  fy_stream_guard(copying) {
    there = fy_to(batch, fy_stream_device(copying), .non_blocking = true);
    fy_event_record(copied, copying);
  }
  fy_stream_guard(computing) {
    fy_event_wait(copied, computing);
    fy_record_stream(there, computing); // its memory belongs to `copying`, and is read here
    fy_event_record(begin, computing);
    result = fy_matmul(there, weight);
    fy_event_record(end, computing);
  }
  fy_event_synchronize(end);
  *milliseconds = fy_event_elapsed_time(begin, end);
  return result;
  // [stub]
  //| (void)batch;
  //| (void)weight;
  //| (void)copying;
  //| (void)computing;
  //| (void)milliseconds;
  //| return NULL; // what goes to which stream, and who waits for whom?
  // [end]
}
