// mistake: off-by-one device index
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  FyDevice best = fy_device(cuda_devices > 0 ? "cuda" : mps_available ? "mps" : "cpu");
  if (strcmp(wish, "auto") == 0)
    return best;
  FyDevice wished = fy_device(wish);
  if (wished.type == FY_CPU)
    return wished;
  if (wished.type == FY_MPS)
    return mps_available ? wished : best;
  return cuda_devices > 0 && wished.index <= cuda_devices ? wished : best;
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
