// mistake: not reproducible
#include "ferry.h"
#include <stdlib.h>

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  FySampler *sampler = fy_distributed_sampler(data->count, .num_replicas = ranks, .rank = rank, .seed = 1);
  fy_distributed_sampler_set_epoch(sampler, epoch);
  int64_t *own = malloc((size_t)sampler->count * sizeof *own);
  sampler->order(sampler, 0, own);
  FyDataLoader *loader =
      fy_data_loader(data, .batch_size = batch_size, .sampler = fy_subset_sampler(own, sampler->count));
  free(own);
  return loader;
}
