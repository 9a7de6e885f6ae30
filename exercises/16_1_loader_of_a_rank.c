// Exercise 16.1: find the bug                                                (chapter 16, docs/16_distributed.md)
//
// batches_of_epoch makes the loader of one rank for one epoch. It runs, the loss falls, and an epoch takes as long with
// eight ranks as with one: every rank goes through all samples.
//
//   PyTorch:  sampler = DistributedSampler(data, num_replicas=ranks, rank=rank, seed=1)
//             sampler.set_epoch(epoch)
//             loader = DataLoader(data, batch_size, sampler=sampler)
//
// Given: the data set, this rank's number and how many ranks there are, the epoch's number, and the size of a batch.
// There are at least as many samples as ranks. The ranks are different processes: what one of them draws or counts, the
// others do not see.
// Judged: the samples that the loaders of all ranks bring in an epoch, in batches of that size. Together they are all
// samples. Each rank has as many as the others; where they do not divide evenly, a few samples come twice, as few as
// possible. The samples are shuffled, in another order in each epoch, so that a rank does not meet the same ones again;
// and all is the same again in another run.
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  (void)rank;
  (void)ranks;
  (void)epoch;
  return fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .seed = 1);
}
