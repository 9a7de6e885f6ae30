// mistake: last GPU instead of the first
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  FyDevice best = fy_device(cuda_devices > 0 ? "cuda" : mps_available ? "mps" : "cpu");
  if (strcmp(wish, "auto") == 0)
    return best;
  FyDevice wished = fy_device(wish);
  if (wished.type == FY_CPU)
    return wished;
  if (wished.type == FY_MPS && mps_available)
    return wished;
  if (wished.type == FY_CUDA && cuda_devices > 0 && wished.index < cuda_devices) // "cuda" has the index -1
    return wished;
  if (wished.type == FY_CUDA && cuda_devices > 0) // as near as can be
    return fy_cuda_device(cuda_devices - 1);
  return best;
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
