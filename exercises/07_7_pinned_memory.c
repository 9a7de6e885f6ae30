// Exercise 7.7: Batches through pinned memory       lesson 7 · medium · 30 min
//
// Task      A copy from pageable memory blocks the host. A copy from pinned
//           memory is asynchronous. Load batches through pinned memory:
//               def pinned(b):
//                   return b.pin_memory() if torch.cuda.is_available() else b
//               loaded = [pinned(b).to(device, non_blocking=True)
//                         for b in batches]
//               torch.cuda.synchronize(device)
// Example   4 batches, "cuda:0"   ->   4 asynchronous copies, 1 synchronization
// Write     `pinned` returns the batch in pinned memory. load_all stores the
//           batches on `device` in loaded[0] to loaded[count - 1].
// Inputs    batches  float32 CPU tensors, some already pinned, some strided
//           count    1 to 16
//           device   a GPU with any current stream, or the CPU without CUDA
// Required  - the loaded values are correct, even after another load_all call
//           - all copies to a GPU come from pinned memory
//           - on return, all copies have completed; at most 2 synchronizations
// Stars     ** one copy per batch, and one synchronization in total
//           *** `pinned` copies a batch only if necessary
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return NULL;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
}
