// mistake: seed not used
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  (void)seed;
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *dataset = fy_tensor_dataset(pictures, labels, .transform = transform);
  return fy_data_loader(dataset, .batch_size = batch_size, .shuffle = true, .pin_memory = true);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_for_prefetched_batches(batch, loader, device) {
    FyTensor *products = fy_mul(batch.target, fy_matmul(batch.data, weight));
    fy_copy_(fy_select(sums, 0, batch.index), fy_sum(products));
  }
  return sums;
}
