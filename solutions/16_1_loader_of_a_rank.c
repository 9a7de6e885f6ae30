// Exercise 16.1: Find the bug: the loader of a rank  lesson 16 · medium · 15 min
//
// Task      batches_of_epoch makes the data loader of one rank for one epoch of
//           distributed training. Training works and the loss falls, but an
//           epoch takes as long with eight ranks as with one.
//           PyTorch:  sampler = DistributedSampler(data, ranks, rank, seed=1)
//                     sampler.set_epoch(epoch)
//                     loader = DataLoader(data, batch_size, sampler=sampler)
// Example   8 samples, 2 ranks: rank 0 loads 4 of them, rank 1 the other 4
// Fix       batches_of_epoch.
// Inputs    data        the data set, at least as many samples as ranks
//           rank, ranks number of this process, and how many there are
//           epoch       0, 1, 2, ...
//           batch_size  samples per batch
// Required  - together, the ranks load every sample; each rank loads equally
//             many, and as few samples as possible are loaded twice
//           - shuffled, in another order in each epoch, reproducible in another
//             run; a rank gets other samples in another epoch
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  // [answer]
  FySampler *sampler = fy_distributed_sampler(data->count, .num_replicas = ranks, .rank = rank, .seed = 1);
  fy_distributed_sampler_set_epoch(sampler, epoch);
  return fy_data_loader(data, .batch_size = batch_size, .sampler = sampler);
  // [stub]
  //| return fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = 1);
  // [end]
}
