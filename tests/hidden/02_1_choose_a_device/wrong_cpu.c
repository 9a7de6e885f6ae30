// mistake: CPU for every request
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  (void)wish;
  (void)cuda_devices;
  (void)mps_available;
  return FY_CPU_DEVICE;
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
