// mistake: missing conversion to float
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyDataset *dataset = fy_tensor_dataset(pictures, labels);
  return fy_data_loader(dataset, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums = fy_zeros(fy_shape(fy_loader_batches(loader)), .device = device);
  fy_for_prefetched_batches(batch, loader, device) {
    FyTensor *products = fy_mul(batch.target, fy_matmul(batch.data, weight));
    fy_copy_(fy_select(sums, 0, batch.index), fy_sum(products));
  }
  return sums;
}
