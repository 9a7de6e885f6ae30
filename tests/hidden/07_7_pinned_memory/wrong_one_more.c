// mistake: out-of-bounds write
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  if (!fy_cuda_is_available() || fy_is_pinned(batch))
    return batch;
  FyTensor *stage = fy_empty(fy_size(batch), .dtype = fy_dtype_of(batch), .pin_memory = true);
  return fy_copy_(stage, batch);
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  if (device.type == FY_CPU) {
    for (int i = 0; i <= count; i++)
      loaded[i] = batches[i];
    return;
  }
  FyEvent *done = fy_event_new(false);
  for (int i = 0; i < count; i++) {
    FyTensor *stage = pinned(batches[i]);
    loaded[i] = fy_empty(fy_size(stage), .dtype = fy_dtype_of(stage), .device = device);
    fy_copy_async_(loaded[i], stage);
  }
  fy_event_record(done, fy_current_stream(device));
  fy_event_synchronize(done);
}
