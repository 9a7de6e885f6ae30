// mistake: only one digit parsed
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  FyDevice best = fy_device(cuda_devices > 0 ? "cuda" : mps_available ? "mps" : "cpu");
  if (strncmp(wish, "cuda:", 5) == 0)
    return wish[5] - (int)'0' < cuda_devices ? fy_cuda_device(wish[5] - (int)'0') : best;
  if (strcmp(wish, "cpu") == 0 || (strcmp(wish, "mps") == 0 && mps_available))
    return fy_device(wish);
  return best;
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
