// mistake: copy from pageable memory
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  if (!fy_cuda_is_available() || fy_is_pinned(batch))
    return batch;
  return fy_pin_memory(batch);
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  bool have_to_pin = device.type == FY_CUDA && count > 0 && !fy_is_pinned(batches[0]);
  for (int i = 0; i < count; i++) {
    FyTensor *from = have_to_pin ? pinned(batches[i]) : batches[i];
    loaded[i] = fy_to(from, device, .non_blocking = true);
  }
  fy_synchronize(device); // returns at once on the CPU
}
