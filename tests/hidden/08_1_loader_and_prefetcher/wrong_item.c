// mistake: host synchronization in the loop
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *dataset = fy_tensor_dataset(pictures, labels, .transform = transform);
  return fy_data_loader(dataset, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  float sums[256];
  int64_t count = 0;
  fy_for_prefetched_batches(batch, loader, device) {
    sums[count++] = (float)fy_item(fy_sum(fy_mul(batch.target, fy_matmul(batch.data, weight))));
  }
  return fy_tensor(sums, fy_shape(count), .device = device);
}
