// mistake: different permutation on each rank
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  FySampler *sampler =
      fy_distributed_sampler(data->count, .num_replicas = ranks, .rank = rank, .seed = 100 * (uint64_t)rank);
  fy_distributed_sampler_set_epoch(sampler, epoch);
  return fy_data_loader(data, .batch_size = batch_size, .sampler = sampler);
}
