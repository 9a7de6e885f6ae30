// Exercise 16.1: Find the bug: the loader of a rank lesson 16 · medium · 15 min
//
// Task      batches_of_epoch creates the data loader of one rank for one epoch
//           of data-parallel training. The loss falls, but an epoch takes as
//           long with eight ranks as with one. In PyTorch:
//               sampler = DistributedSampler(data, ranks, rank, seed=1)
//               sampler.set_epoch(epoch)
//               loader = DataLoader(data, batch_size, sampler=sampler)
// Example   10 samples, 4 ranks   ->   3 samples per rank, 2 of them repeated
// Fix       batches_of_epoch.
// Inputs    data           data set of at least `ranks` samples
//           rank, ranks    this process, 0 to ranks - 1; number of processes
//           epoch          0 or more
//           batch_size     1 or more
// Required  - together, the ranks cover all samples in each epoch
//           - each rank has ceil(samples / ranks) samples, in batches of
//             batch_size; some samples are repeated if necessary
//           - the samples are shuffled, in a different order in each epoch;
//             each run has the same orders
// Stars     ** a rank gets different samples in the next epoch
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  return fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = 1);
}
