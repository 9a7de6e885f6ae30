// The epoch is part of the seed.
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  return fy_data_loader(data, .batch_size = batch_size,
                        .sampler = fy_distributed_sampler(data->count, .num_replicas = ranks, .rank = rank,
                                                          .seed = 1000 + (uint64_t)epoch));
}
