// mistake: synchronization with the wrong stream
// devices: 2
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  for (int i = 0; i < count; i++)
    loaded[i] = fy_to(pinned(batches[i]), device, .non_blocking = true);
  int other = fy_cuda_device_count() > 1 && device.index == 0;
  fy_synchronize(fy_cuda_is_available() ? fy_cuda_device(other) : FY_CPU_DEVICE);
}
