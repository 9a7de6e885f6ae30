// A sampler of its own, which fills the shares with the last sample.
#include "ferry.h"

typedef struct RankSampler {
  FySampler base;
  int64_t samples, epoch;
  int rank, ranks;
} RankSampler;

static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static void rank_order(FySampler *self, uint64_t seed, int64_t *indices) {
  (void)seed;
  RankSampler *s = (RankSampler *)self;
  fy_scope {
    FyTensor *order = fy_arange((double)s->samples, .dtype = FY_INT64);
    int64_t *all = fy_data_ptr(order);
    uint64_t state = 1 + 1000003u * (uint64_t)s->epoch;
    for (int64_t i = s->samples - 1; i > 0; i--) {
      int64_t k = (int64_t)(next_random(&state) % (uint64_t)(i + 1)), was = all[i];
      all[i] = all[k];
      all[k] = was;
    }
    for (int64_t i = 0; i < s->base.count; i++)
      indices[i] = all[i * s->ranks + s->rank < s->samples ? i * s->ranks + s->rank : s->samples - 1];
  }
}

FyDataLoader *batches_of_epoch(FyDataset *data, int rank, int ranks, int64_t epoch, int batch_size) {
  int64_t each = (data->count + ranks - 1) / ranks;
  RankSampler *sampler = fy_sampler_new(sizeof *sampler, each, rank_order);
  sampler->samples = data->count;
  sampler->epoch = epoch;
  sampler->rank = rank;
  sampler->ranks = ranks;
  FyDataLoader *loader = fy_data_loader(data, .batch_size = batch_size, .sampler = &sampler->base, .seed = 1);
  fy_loader_set_epoch(loader, epoch);
  return loader;
}
