// Exercise 7.7: batches through pinned memory                                    (chapter 7, docs/07_pitfalls.md)
//
// A copy from ordinary memory keeps the host until the driver has put the bytes into pinned (page-locked) memory of its
// own. From pinned memory it can be queued, and the host goes on. Write two functions.
//
// pinned: the batch in pinned memory; the batch itself when it is there already, or when the machine has no CUDA, where
// nothing can be pinned.
//
//   PyTorch:  batch.pin_memory() if torch.cuda.is_available() else batch
//
// load_all: brings `count` batches to `device`, each by way of pinned memory, queues all the copies, and waits once, at
// the end. Store what is there in loaded[0 .. count-1]. On the CPU nothing has to move: what is stored may be the
// batches themselves.
//
//   PyTorch:  loaded = [pinned(b).to(device, non_blocking=True) for b in batches]
//             torch.cuda.synchronize(device)
//
// Given: 1 to 16 float32 CPU tensors, no two of them the same, of one width, the last with fewer rows; some are pinned
// from the start, some are views with gaps, and none is both. Any stream of the device may be the current one.
// Counted: copies to the device, one per batch and all from pinned memory; synchronisations, one in all. When load_all
// returns, everything has arrived, and what an earlier call has loaded is as it was.
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  // [answer]
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
  // [stub]
  //| (void)batch;
  //| return NULL;
  // [end]
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  // [answer]
  for (int i = 0; i < count; i++)
    loaded[i] = fy_to(pinned(batches[i]), device, .non_blocking = true);
  fy_synchronize(device);
  // [stub]
  //| (void)batches;
  //| (void)device;
  //| for (int i = 0; i < count; i++)
  //|   loaded[i] = NULL;
  // [end]
}
