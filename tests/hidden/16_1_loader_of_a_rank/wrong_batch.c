// mistake: wrong batch size
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  FySampler *sampler = fy_distributed_sampler(data->count, .num_replicas = ranks, .rank = rank, .seed = 1);
  fy_distributed_sampler_set_epoch(sampler, epoch);
  return fy_data_loader(data, .batch_size = ranks * batch_size, .sampler = sampler);
}
