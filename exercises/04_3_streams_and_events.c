// Exercise 4.3: Streams and events                    lesson 4 · hard · 30 min
//
// Task      Copy a batch on one stream and multiply it on another. One event
//           orders the two streams, and two more events time the product:
//               with torch.cuda.stream(copying):
//                   x = batch.to(device, non_blocking=True); copied.record()
//               with torch.cuda.stream(computing):
//                   copied.wait()
//                   begin.record(); result = x @ weight; end.record()
//               end.synchronize(); milliseconds = begin.elapsed_time(end)
// Example   batch 1 2, weight 3 4 (as a column)   ->   11, and 0.02 ms
// Write     streamed_product. It returns the product as a tensor on the GPU.
// Inputs    batch      float32 (m, k), pinned; being written on `copying`
//           weight     float32 (k, n) on a GPU; being written on `computing`
//           copying, computing    streams of that GPU, neither is current;
//                      work on `computing` may still use freed memory
// Required  - on return, the product is complete, and the current stream and
//             device are the same as before
//           - the copy runs on `copying`, the product on `computing`, and the
//             host does not wait or poll before it enqueues the product
//           - *milliseconds is the time between two events around the product
// Stars     ** the batch is copied in one transfer
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  return NULL;
}
