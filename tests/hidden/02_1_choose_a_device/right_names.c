// Compares the request with the name of every device that there is.
#include "ferry.h"
#include <stdio.h>
#include <string.h>

FyDevice choose_device(const char *requested, int cuda_devices, bool mps_available) {
  char name[16];
  for (int i = 0; i < cuda_devices; i++) {
    snprintf(name, sizeof name, "cuda:%d", i);
    if (strcmp(requested, name) == 0)
      return fy_cuda_device(i);
  }
  if (strcmp(requested, "cpu") == 0)
    return fy_device("cpu");
  if (strcmp(requested, "mps") == 0 && mps_available)
    return fy_device("mps");
  return fy_device(cuda_devices ? "cuda:0" : mps_available ? "mps" : "cpu");
}

FyDevice device_here(const char *requested) {
  const int devices = fy_cuda_is_available() ? fy_cuda_device_count() : 0;
  return choose_device(requested, devices, fy_mps_is_available());
}
