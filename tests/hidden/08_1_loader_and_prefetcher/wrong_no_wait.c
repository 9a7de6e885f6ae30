// mistake: missing stream dependency
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *dataset = fy_tensor_dataset(pictures, labels, .transform = transform);
  return fy_data_loader(dataset, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  FyStream *copying = fy_stream_new(device, 0);
  fy_for_batches(batch, loader) {
    FyTensor *data = NULL, *target = NULL;
    fy_stream_guard(copying) {
      data = fy_to(batch.data, device, .non_blocking = true);
      target = fy_to(batch.target, device, .non_blocking = true);
    }
    fy_copy_(fy_select(sums, 0, batch.index), fy_sum(fy_mul(target, fy_matmul(data, weight))));
  }
  return sums;
}
