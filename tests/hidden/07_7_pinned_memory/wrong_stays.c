// mistake: batch not moved to the device
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  for (int i = 0; i < count; i++)
    loaded[i] = pinned(batches[i]); // as if pinned were there
  fy_synchronize(device);
}
