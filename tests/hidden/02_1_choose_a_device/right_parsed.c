// Parses the string by hand.
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  if (!strcmp(wish, "cpu"))
    return FY_CPU_DEVICE;
  if (!strncmp(wish, "cuda:", 5)) {
    int number = atoi(wish + 5);
    if (number < cuda_devices)
      return fy_cuda_device(number);
  }
  if (!strcmp(wish, "mps") && mps_available)
    return fy_device("mps");
  if (cuda_devices)
    return fy_cuda_device(0);
  return mps_available ? fy_device("mps") : FY_CPU_DEVICE;
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_is_available() ? fy_cuda_device_count() : 0, fy_mps_is_available());
}
