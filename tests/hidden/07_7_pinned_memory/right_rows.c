// missing star: many small transfers
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  for (int i = 0; i < count; i++) {
    FyTensor *stage = pinned(batches[i]);
    loaded[i] = fy_empty(fy_size(stage), .device = device);
    for (int64_t row = 0; row < fy_size_at(stage, 0); row++)
      fy_copy_async_(fy_select(loaded[i], 0, row), fy_select(stage, 0, row));
  }
  fy_synchronize(device);
}
