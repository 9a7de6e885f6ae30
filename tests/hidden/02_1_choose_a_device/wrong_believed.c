// mistake: device availability not checked
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  if (strcmp(wish, "auto") == 0)
    return fy_device(cuda_devices > 0 ? "cuda" : mps_available ? "mps" : "cpu");
  return fy_device(wish);
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
