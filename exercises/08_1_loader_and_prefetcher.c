// Exercise 8.1: Data loader and prefetcher          lesson 8 · medium · 40 min
//
// Task      Create a data loader that shuffles, and compute one sum per batch
//           on a GPU while the next batch is being copied:
//               transform = Compose([ToTensor(), Normalize((0.5,), (0.5,))])
//               DataLoader(dataset, shuffle=True, pin_memory=True, ...)
//               sums = [(target * (data @ weight)).sum()
//                       for data, target in prefetcher]
// Example   data [[1, 2], [3, 4]], target [1, 2], weight [1, 1]   ->   sum 17
// Write     training_loader, and epoch_sums for the next epoch of any loader.
// Inputs    images, labels   (N, h, w) uint8 and (N) int64, on the CPU; N >= 1
//           loader   float32 batches: data (size, features), target (size);
//                    it has at least one sample
//           weight   (features) on `device`, which is a GPU; seed is not 0
// Required  - training_loader: float32 images (1, h, w) from -1 to 1 in pinned
//             memory; each epoch has each sample once, in a different order;
//             `seed` determines all orders; only the last batch may be smaller
//           - epoch_sums: correct on `device` for later work on the current
//             stream, even if the next epoch starts immediately
//           - on a second stream, batch k + 1 is queued before batch k is used
//           - 2 copies to the device per batch; the host waits at most twice
// Stars     ** the host never waits for the device
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *images, FyTensor *labels, int batch_size, uint64_t seed) {
  return NULL;
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  return NULL;
}
