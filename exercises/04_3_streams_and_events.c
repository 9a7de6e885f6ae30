// Exercise 4.3: Streams and events                    lesson 4 · hard · 30 min
//
// Task      Copy a batch on one stream and multiply it on another. An event
//           orders the two, and two more events measure the product:
//               with torch.cuda.stream(copying):
//                   x = batch.to(device, non_blocking=True); copied.record()
//               with torch.cuda.stream(computing):
//                   copied.wait()
//                   begin.record(); result = x @ weight; end.record()
//               end.synchronize(); milliseconds = begin.elapsed_time(end)
// Example   batch 1 2, weight 3 4 (as a column)   ->   11, and 0.02 ms
// Write     streamed_product, which returns the product, on the GPU
// Inputs    batch      float32 (m, k), pinned; `copying` still writes it
//           weight     float32 (k, n) on a GPU; `computing` still writes it
//           copying, computing    streams of that GPU, not the current ones;
//                      `computing` may still use memory that was freed
// Required  - complete on return; current stream and device as before
//           - the copy runs on `copying`, the product on `computing`, and the
//             host neither waits nor polls before the product is enqueued
//           - *milliseconds: elapsed time of the product only, by two events
// Stars     ** the batch is copied in one transfer
#include "ferry.h"

FyTensor *streamed_product(FyTensor *batch, FyTensor *weight, FyStream *copying, FyStream *computing,
                           double *milliseconds) {
  return NULL;
}
