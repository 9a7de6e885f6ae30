// mistake: availability tested on this machine
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  FyDevice best = fy_device(cuda_devices > 0 ? "cuda" : mps_available ? "mps" : "cpu");
  if (strcmp(wish, "auto") == 0)
    return best;
  FyDevice wished = fy_device(wish);
  FyError error;
  fy_trap(error) {
    fy_empty(fy_shape(1), .device = wished);
  }
  bool there = !error.kind; // what this machine makes is what there is
  there &= wished.type == FY_CPU || (wished.type == FY_MPS && mps_available) ||
           (wished.type == FY_CUDA && wished.index < cuda_devices); // "cuda" has the index -1
  return there && !(wished.type == FY_CUDA && cuda_devices == 0) ? wished : best;
}

FyDevice device_here(const char *wish) {
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
}
