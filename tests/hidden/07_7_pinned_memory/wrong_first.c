// mistake: hard-coded device
// devices: 2
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  FyDevice gpu = device.type == FY_CUDA ? fy_device("cuda") : device;
  for (int i = 0; i < count; i++)
    loaded[i] = fy_to(pinned(batches[i]), gpu, .non_blocking = true);
  fy_synchronize(gpu);
}
