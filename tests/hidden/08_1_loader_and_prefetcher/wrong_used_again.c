// mistake: memory reused too early
#include "ferry.h"

static bool fetch(FyLoaderIterator *batches, FyBatch *batch, FyStream *stream) {
  if (!fy_loader_next(batches, batch))
    return false;
  fy_stream_guard(stream) {
    batch->data = fy_to(batch->data, fy_stream_device(stream), .non_blocking = true);
    batch->target = fy_to(batch->target, fy_stream_device(stream), .non_blocking = true);
  }
  return true;
}

FyDataLoader *training_loader(FyTensor *pictures, FyTensor *labels, int batch_size, uint64_t seed) {
  FyTransform *transform = fy_compose(fy_to_tensor(), fy_normalize(1, fy_floats(0.5), fy_floats(0.5)));
  FyDataset *dataset = fy_tensor_dataset(pictures, labels, .transform = transform);
  return fy_data_loader(dataset, .batch_size = batch_size, .shuffle = true, .pin_memory = true, .seed = seed);
}

FyTensor *epoch_sums(FyDataLoader *loader, FyTensor *weight, FyDevice device) {
  FyLoaderIterator *batches = fy_loader_iter(loader);
  FyStream *copying = fy_stream_new(device, 0), *computing = fy_current_stream(device);
  FyBatch next, batch;
  bool more = fetch(batches, &next, copying);
  FyTensor *sums = fy_empty(fy_shape(fy_loader_batches(loader)), .device = device);
  while (more) {
    fy_stream_wait_stream(computing, copying);
    batch = next;
    more = fetch(batches, &next, copying);
    fy_copy_(fy_select(sums, 0, batch.index), fy_sum(fy_mul(batch.target, fy_matmul(batch.data, weight))));
    fy_drop(batch.data);
    fy_drop(batch.target);
  }
  return sums;
}
