// missing star: unnecessary copy
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : fy_contiguous(batch);
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  for (int i = 0; i < count; i++)
    loaded[i] = fy_to(pinned(batches[i]), device, .non_blocking = true);
  fy_synchronize(device);
}
