// mistake: order not reproducible
#include "ferry.h"

static uint64_t drawn;

static void order(FySampler *self, uint64_t seed, int64_t *indices) {
  (void)seed;
  for (int64_t i = 0; i < self->count; i++) {
    drawn = drawn * UINT64_C(6364136223846793005) + 1442695040888963407;
    int64_t other = (int64_t)((drawn >> 33) % (uint64_t)(i + 1));
    indices[i] = indices[other];
    indices[other] = i;
  }
}

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *dataset = fy_tensor_dataset(pictures, labels, .transform = transform);
  FySampler *sampler = fy_sampler_new(sizeof *sampler, dataset->count, order);
  if (drawn == 0)
    drawn = seed;
  return fy_data_loader(dataset, .batch_size = batch_size, .sampler = sampler, .pin_memory = true);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_for_prefetched_batches(batch, loader, device) {
    FyTensor *products = fy_mul(batch.target, fy_matmul(batch.data, weight)); // (size)
    fy_copy_(fy_select(sums, 0, batch.index), fy_sum(products));
  }
  return sums;
}
