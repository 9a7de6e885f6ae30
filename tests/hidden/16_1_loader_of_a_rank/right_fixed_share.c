// missing star: shuffled within a fixed share
#include "ferry.h"
#include <stdlib.h>

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  int64_t each = (data->count + ranks - 1) / ranks, *own = malloc((size_t)each * sizeof *own);
  for (int64_t i = 0; i < each; i++)
    own[i] = (rank * each + i) % data->count;
  FyDataLoader *loader = fy_data_loader(data, .batch_size = batch_size, .sampler = fy_subset_sampler(own, each),
                                        .seed = 1 + (uint64_t)epoch);
  free(own);
  return loader;
}
