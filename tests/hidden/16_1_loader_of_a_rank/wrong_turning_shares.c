// mistake: same share in every epoch
#include "ferry.h"
#include <stdlib.h>

static uint64_t next(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

static void shuffle(int64_t *numbers, int64_t count, uint64_t seed) {
  for (int64_t i = count - 1; i > 0; i--) {
    int64_t j = (int64_t)(next(&seed) % (uint64_t)(i + 1)), kept = numbers[i];
    numbers[i] = numbers[j];
    numbers[j] = kept;
  }
}

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  int64_t n = data->count, each = (n + ranks - 1) / ranks, which = (rank + epoch) % ranks;
  int64_t *all = malloc(sizeof *all * (size_t)n), *mine = malloc(sizeof *mine * (size_t)each);
  for (int64_t i = 0; i < n; i++) {
    all[i] = i;
  }
  shuffle(all, n, 1);
  for (int64_t i = 0; i < each; i++) {
    mine[i] = all[(which + i * ranks) % n];
  }
  FySampler *sampler = fy_subset_sampler(mine, each); // in another order for each seed
  free(all);
  free(mine);
  return fy_data_loader(data, .batch_size = batch_size, .sampler = sampler, .seed = (uint64_t)epoch + 1);
}
