// mistake: all samples on every rank
#include "ferry.h"

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  (void)ranks;
  return fy_data_loader(data, .batch_size = batch_size, .shuffle = true,
                        .seed = 1 + 1000 * (uint64_t)rank + (uint64_t)epoch);
}
