// mistake: unequal shares
#include "ferry.h"
#include <stdlib.h>

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  int64_t *all = malloc((size_t)data->count * sizeof *all), *own = malloc((size_t)data->count * sizeof *own), n = 0;
  FySampler *random = fy_random_sampler(data->count);
  random->order(random, 1 + (uint64_t)epoch, all);
  for (int64_t i = rank; i < data->count; i += ranks)
    own[n++] = all[i];
  FyDataLoader *loader =
      fy_data_loader(data, .batch_size = batch_size, .sampler = fy_subset_sampler(own, n), .seed = 1 + (uint64_t)epoch);
  free(all);
  free(own);
  return loader;
}
