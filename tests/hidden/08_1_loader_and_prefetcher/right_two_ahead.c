// A ring of three: two batches are on their way while one is computed with.
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
  enum { SLOTS = 3 };
  FyBatch ring[SLOTS];
  FyEvent *arrived[SLOTS];
  int64_t asked = 0, count = fy_loader_batches(loader);
  for (; asked < 2 && asked < count; asked++) {
    fetch(batches, &ring[asked], copying);
    arrived[asked] = fy_event_new(false);
    fy_event_record(arrived[asked], copying);
  }
  FyTensor *sums = fy_empty(fy_shape(fy_loader_batches(loader)), .device = device);
  for (int64_t k = 0; k < count; k++) {
    FyBatch batch = ring[k % SLOTS];
    fy_event_wait(arrived[k % SLOTS], computing);
    fy_record_stream(batch.data, computing);
    fy_record_stream(batch.target, computing);
    if (asked < count) {
      fetch(batches, &ring[asked % SLOTS], copying);
      arrived[asked % SLOTS] = fy_event_new(false);
      fy_event_record(arrived[asked++ % SLOTS], copying);
    }
    fy_copy_(fy_select(sums, 0, batch.index), fy_sum(fy_mul(batch.target, fy_matmul(batch.data, weight))));
  }
  return sums;
}
