// SPDX-License-Identifier: MIT
// Samplers: the order of an epoch, from its seed.
#include "data/impl.h"
#include <stdlib.h>
#include <string.h>

static void destroy_sampler(void *object) {
  FySampler *self = object;
  if (self->destroy)
    self->destroy(self);
  free(self);
}

void *fy_sampler_new(size_t bytes, int64_t count, void (*order)(FySampler *, uint64_t, int64_t *)) {
  fy_check(order, FY_TYPE_ERROR, "fy_sampler_new: a sampler needs an order function");
  fy_check(bytes >= sizeof(FySampler), FY_VALUE_ERROR,
           "fy_sampler_new: %zu bytes do not hold an FySampler, which must be the struct's first member", bytes);
  fy_check(count >= 0, FY_VALUE_ERROR, "a sampler's number of samples must not be negative, but got %lld",
           (long long)count);
  FySampler *self = fy_object_new(bytes, destroy_sampler);
  self->count = count;
  self->order = order;
  return self;
}

static void sequential_order(FySampler *self, uint64_t seed, int64_t *indices) {
  (void)seed;
  for (int64_t i = 0; i < self->count; i++)
    indices[i] = i;
}

// Fisher and Yates: position i takes one of those at or after it.
static void shuffle(int64_t *indices, int64_t count, uint64_t seed) {
  for (int64_t i = 0; i + 1 < count; i++) {
    __extension__ typedef unsigned __int128 wide;
    int64_t other = i + (int64_t)((wide)fy_mix(seed, (uint64_t)i) * (uint64_t)(count - i) >> 64);
    int64_t index = indices[other];
    indices[other] = indices[i];
    indices[i] = index;
  }
}

static void random_order(FySampler *self, uint64_t seed, int64_t *indices) {
  sequential_order(self, seed, indices);
  shuffle(indices, self->count, seed);
}

FySampler *fy_sequential_sampler(int64_t count) {
  return fy_sampler_new(sizeof(FySampler), count, sequential_order);
}

FySampler *fy_random_sampler(int64_t count) {
  return fy_sampler_new(sizeof(FySampler), count, random_order);
}

typedef struct SubsetSampler {
  FySampler base;
  int64_t *indices;
} SubsetSampler;

static void subset_order(FySampler *base, uint64_t seed, int64_t *indices) {
  memcpy(indices, ((SubsetSampler *)base)->indices, (size_t)base->count * sizeof *indices);
  shuffle(indices, base->count, seed);
}

static void subset_destroy(FySampler *base) {
  free(((SubsetSampler *)base)->indices);
}

FySampler *fy_subset_sampler(const int64_t *indices, int64_t count) {
  fy_check(indices || count == 0, FY_TYPE_ERROR, "fy_subset_sampler: the indices are NULL");
  SubsetSampler *self = fy_sampler_new(sizeof *self, count, subset_order);
  self->base.destroy = subset_destroy;
  self->indices = malloc((size_t)(count ? count : 1) * sizeof *indices);
  fy_check(self->indices, FY_OUT_OF_MEMORY_ERROR, "out of host memory for a sampler of %lld indices", (long long)count);
  if (count)
    memcpy(self->indices, indices, (size_t)count * sizeof *indices);
  return &self->base;
}
