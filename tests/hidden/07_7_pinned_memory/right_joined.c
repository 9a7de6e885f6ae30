// All batches in one copy, and views of the result.
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  if (device.type != FY_CUDA) {
    for (int i = 0; i < count; i++)
      loaded[i] = batches[i];
    return;
  }
  FyTensor *all = fy_cat((FyTensors){count, (FyTensor **)(uintptr_t)batches}, 0);
  all = fy_to(pinned(all), device, .non_blocking = true);
  for (int64_t i = 0, row = 0; i < count; row += fy_size_at(batches[i], 0), i++)
    loaded[i] = fy_narrow(all, 0, row, fy_size_at(batches[i], 0));
  fy_synchronize(device);
}
