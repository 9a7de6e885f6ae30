// mistake: wrong size of the last batch
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *scale = fy_normalize(1, fy_floats(0.5), fy_floats(0.5));
  FyDataset *data = fy_tensor_dataset(pictures, labels, .transform = fy_compose(fy_to_tensor(), scale));
  return fy_data_loader(data, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  int64_t size = 0;
  fy_no_grad {
    fy_for_prefetched_batches(batch, loader, device) {
      size = batch.index == 0 ? batch.size : size;
      FyTensor *sum = fy_mul_scalar(fy_mean(fy_mul(batch.target, fy_matmul(batch.data, weight))), (double)size);
      fy_copy_(fy_select(sums, 0, batch.index), sum);
    }
  }
  return sums;
}
