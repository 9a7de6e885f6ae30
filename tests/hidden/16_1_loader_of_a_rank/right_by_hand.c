#include "ferry.h"
#include <stdlib.h>

// A permutation by the seed, and of it every n-th.
FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  int64_t count = data->count, each = (count + ranks - 1) / ranks;
  int64_t *all = malloc((size_t)count * sizeof *all), *own = malloc((size_t)each * sizeof *own);
  FySampler *random = fy_random_sampler(count);
  random->order(random, 77 + (uint64_t)epoch, all);
  for (int64_t i = 0; i < each; i++)
    own[i] = all[(rank * each + i) % count]; // blocks do as well, once they are shuffled
  FyDataLoader *loader = fy_data_loader(data, .batch_size = batch_size, .sampler = fy_subset_sampler(own, each),
                                        .seed = 5 + (uint64_t)epoch);
  free(all);
  free(own);
  return loader;
}
