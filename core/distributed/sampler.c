// SPDX-License-Identifier: MIT
// DistributedSampler: which samples of an epoch are this rank's.
#include "distributed/ddp.h"
#include "distributed/impl.h"
#include <stdlib.h>
#include <string.h>

typedef struct DistributedSampler {
  FySampler base;
  int64_t samples, epoch; // of the data set
  int replicas, rank;
  uint64_t seed;
  FySampler *permutation; // counted; NULL: in order
} DistributedSampler;

// The loader's own seed is not used: it may differ between ranks.
static void order(FySampler *base, uint64_t unused, int64_t *indices) {
  DistributedSampler *self = (DistributedSampler *)base;
  (void)unused;
  int64_t *all = malloc((size_t)self->samples * sizeof *all);
  fy_check(all, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a permutation of %lld", (long long)self->samples);
  for (int64_t i = 0; i < self->samples; i++)
    all[i] = i;
  if (self->permutation)
    self->permutation->order(self->permutation, self->seed + (uint64_t)self->epoch, all);
  for (int64_t i = 0; i < base->count; i++)
    indices[i] = all[(self->rank + i * self->replicas) % self->samples]; // past the end it begins anew: the padding
  free(all);
}

static void destroy(FySampler *base) {
  fy_release(((DistributedSampler *)base)->permutation);
}

FySampler *fy_distributed_sampler_with(FyDistributedSamplerOptions o) {
  fy_check(o.count > 0, FY_VALUE_ERROR, "fy_distributed_sampler: there must be samples, but got %lld",
           (long long)o.count);
  fy_check(o.num_replicas >= 0, FY_VALUE_ERROR, "fy_distributed_sampler: num_replicas must not be negative, but got %d",
           o.num_replicas);
  if (o.num_replicas == 0) {
    o.num_replicas = fy_get_world_size();
    o.rank = fy_get_rank();
  }
  fy_check(o.rank >= 0 && o.rank < o.num_replicas, FY_VALUE_ERROR,
           "Invalid rank %d, rank should be in the interval [0, %d]", o.rank, o.num_replicas - 1);
  const int64_t n = o.num_replicas;
  const int64_t each = o.drop_last ? o.count / n : (o.count + n - 1) / n;
  int mark = fy_scope_open();
  DistributedSampler *self = fy_sampler_new(sizeof *self, each, order);
  self->base.destroy = destroy;
  self->samples = o.count;
  self->replicas = o.num_replicas;
  self->rank = o.rank;
  self->seed = o.seed;
  if (fy_option_or_true(o.named, "shuffle", o.shuffle))
    self->permutation = fy_retain(fy_random_sampler(o.count));
  fy_keep(self);
  fy_scope_close(mark);
  return &self->base;
}

void fy_distributed_sampler_set_epoch(FySampler *sampler, int64_t epoch) {
  fy_check(sampler && sampler->order == order, FY_TYPE_ERROR,
           "fy_distributed_sampler_set_epoch: this is not a sampler of fy_distributed_sampler");
  ((DistributedSampler *)sampler)->epoch = epoch;
}
