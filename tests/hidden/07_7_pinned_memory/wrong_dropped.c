// mistake: caller's tensor freed
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  if (!fy_cuda_is_available() || fy_is_pinned(batch))
    return batch;
  return fy_pin_memory(batch);
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  if (device.type == FY_CPU) {
    for (int i = 0; i < count; i++)
      loaded[i] = batches[i];
    return;
  }
  FyTensor *staged[16];
  for (int i = 0; i < count; i++) {
    staged[i] = pinned(batches[i]);
    loaded[i] = fy_to(staged[i], device, .non_blocking = true);
  }
  fy_synchronize(device);
  for (int i = 0; i < count; i++)
    fy_drop(staged[i]); // pinned memory is scarce
}
