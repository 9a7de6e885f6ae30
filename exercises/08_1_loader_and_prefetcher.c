// Exercise 8.1: a loader, and batches that arrive ahead                       (chapter 8, docs/08_data_pipeline.md)
//
// Two functions.
//
// training_loader makes a loader over pictures (uint8, N x height x width) and labels (int64, N), both on the CPU.
// Pictures become float32 (1 x height x width) between -1 and 1. Each epoch has another order, and all orders follow
// from `seed`, from all 64 bits of it: the same seed (1 or more) gives the same orders again, whatever else draws
// random numbers, another loader in between too. Batches have batch_size samples, only the last one may have fewer,
// and no sample is left out. They lie in pinned memory; the tests are run where there is CUDA.
//
//   PyTorch:  transform = Compose([ToTensor(), Normalize((0.5,), (0.5,))])
//             DataLoader(dataset, batch_size=batch_size, shuffle=True, pin_memory=True, generator=seeded)
//
// epoch_sums goes through one epoch of a loader, the one that comes next in it, whose batches have data (size x
// features) and target (size), both float32. It returns a float32 tensor on `device` with one element for each batch,
// in their order:
//
//   sums[k] = sum over the samples i of batch k of  target[i] * (data[i] . weight)        weight: features, on `device`
//
//   PyTorch:  torch.stack([(target * (data @ weight)).sum() for data, target in prefetcher])
//
// Batch k + 1 (or more of them) has to be on its way to the device, queued on another stream than the one that
// computes, before batch k is computed with. What computes is the device's current stream, whichever the caller has
// made current. `device` is a GPU, not always the same one, and weight requires no gradient. One epoch may follow the
// other at once, each in an fy_scope of the caller's. Counted, while epoch_sums runs: copies to the device (two for
// each batch), waits of the host and copies to the host (none).
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  (void)pictures;
  (void)labels;
  (void)batch_size;
  (void)seed;
  return NULL;
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  (void)loader;
  (void)weight;
  (void)device;
  return NULL;
}
