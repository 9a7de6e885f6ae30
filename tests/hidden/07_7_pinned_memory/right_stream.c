// All copies on a stream of their own, and that one waited for.
#include "ferry.h"

FyTensor *pinned(FyTensor *batch) {
  return fy_cuda_is_available() ? fy_pin_memory(batch) : batch;
}

void load_all(FyTensor *const *batches, int count, FyDevice device, FyTensor **loaded) {
  if (device.type == FY_CPU) {
    for (int i = 0; i < count; i++)
      loaded[i] = batches[i];
    return;
  }
  FyStream *copying = fy_stream_new(device, 0);
  fy_stream_guard(copying) {
    for (int i = 0; i < count; i++)
      loaded[i] = fy_to(pinned(batches[i]), device, .non_blocking = true);
  }
  fy_stream_synchronize(copying);
}
