// mistake: loader reset to an earlier epoch
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *data = fy_tensor_dataset(pictures, labels, .transform = transform);
  return fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_empty(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_loader_set_epoch(loader, 0); // from the beginning
  fy_for_prefetched_batches(batch, loader, device) {
    FyTensor *sum = fy_sum(fy_mul(batch.target, fy_matmul(batch.data, weight)));
    fy_copy_(fy_select(sums, 0, batch.index), sum);
  }
  return sums;
}
