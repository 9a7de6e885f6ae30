// First all are pinned, then all are sent.
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  enum { MOST = 64 };
  FyTensor *stages[MOST];
  for (int i = 0; i < count; i++)
    stages[i] = pinned(batches[i]);
  for (int i = count - 1; i >= 0; i--)
    loaded[i] = fy_to(stages[i], device, .non_blocking = true);
  fy_synchronize(device);
}
