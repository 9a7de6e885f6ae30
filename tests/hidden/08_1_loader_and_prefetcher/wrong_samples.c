// mistake: many small transfers
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *dataset = fy_tensor_dataset(pictures, labels, .transform = transform);
  return fy_data_loader(dataset, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_for_batches(batch, loader) {
    FyTensor *sum = fy_select(sums, 0, batch.index);
    for (int64_t i = 0; i < batch.size; i++) {
      FyTensor *data = fy_to(fy_select(batch.data, 0, i), device, .non_blocking = true);
      FyTensor *target = fy_to(fy_select(batch.target, 0, i), device, .non_blocking = true);
      fy_add_(sum, fy_mul(target, fy_sum(fy_mul(data, weight))));
    }
  }
  return sums;
}
