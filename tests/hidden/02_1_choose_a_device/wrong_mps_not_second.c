// mistake: MPS fallback missing
#include "ferry.h"
#include <string.h>

static FyDevice best(int gpus, bool mps_available) {
  if (gpus > 0)
    return fy_cuda_device(0);
  return mps_available ? fy_device("mps") : FY_CPU_DEVICE;
}

// A machine without CUDA gets the CPU when CUDA is wished for, even one with mps.
FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  if (strcmp(wish, "auto") == 0)
    return best(cuda_devices, mps_available);
  FyDevice wanted = fy_device(wish);
  switch (wanted.type) {
  case FY_CPU:
    return wanted;
  case FY_CUDA:
    if (cuda_devices < 1)
      return FY_CPU_DEVICE;
    return wanted.index < cuda_devices ? fy_cuda_device(wanted.index < 0 ? 0 : wanted.index) : fy_cuda_device(0);
  default:
    return mps_available ? wanted : best(cuda_devices, false);
  }
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
