// A random sampler with workers; the prefetcher asked by hand, the sums kept in a list and stacked.
#include "ferry.h"

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyDataset *dataset = fy_tensor_dataset(pictures, labels);
  fy_dataset_transform(dataset, fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5))));
  FySampler *sampler = fy_random_sampler(dataset->count);
  return fy_data_loader(dataset, .sampler = sampler, .num_workers = 2, .batch_size = batch_size, .seed = seed,
                        .pin_memory = true);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyTensor *sums[256];
  int count = 0;
  FyPrefetcher *prefetcher = fy_prefetcher(loader, device);
  FyBatch batch;
  while (count < 256 && fy_prefetcher_next(prefetcher, &batch))
    sums[count++] = fy_sum(fy_mul(fy_matmul(batch.data, weight), batch.target));
  return fy_stack((FyTensors){count, sums}, 0);
}
