// Exercise 2.1: Choose a device                       lesson 2 · easy · 15 min
//
// Task      Pick the device that the user requests, so that one program runs
//           on every machine. If the machine does not have it, pick the best
//           device that it has: CUDA, otherwise mps, otherwise the CPU.
//               torch.device("cuda" if torch.cuda.is_available() else "cpu")
// Example   choose_device("cuda:1", 2, false)   ->   cuda:1
//           choose_device("cuda:3", 2, false)   ->   cuda:0
// Write     choose_device, for the machine that its arguments describe, and
//           device_here, for the machine that the program runs on
// Inputs    requested      "auto" (the best), "cpu", "mps", "cuda" or "cuda:N";
//                          N is 0 to 99, without leading zeros
//           cuda_devices   number of CUDA devices, may be 0
//           mps_available  whether there is an Apple GPU
// Required  - the right device, on machines with and without CUDA or mps
//           - no error if the requested device is missing
//           - cuda and cuda:0 both count as the best CUDA device
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *requested, int cuda_devices, bool mps_available) {
  // [answer]
  FyDevice best = fy_device(cuda_devices > 0 ? "cuda" : mps_available ? "mps" : "cpu");
  if (strcmp(requested, "auto") == 0)
    return best;
  FyDevice device = fy_device(requested);
  if (device.type == FY_CPU)
    return device;
  if (device.type == FY_MPS && mps_available)
    return device;
  if (device.type == FY_CUDA && cuda_devices > 0 && device.index < cuda_devices) // "cuda" has the index -1
    return device;
  return best;
  // [stub]
  //| return FY_CPU_DEVICE; // or the requested device
  // [end]
}

FyDevice device_here(const char *requested) {
  // [answer]
  return choose_device(requested, fy_cuda_device_count(), fy_mps_is_available());
  // [stub]
  //| return choose_device(requested, 0, false); // ask this machine instead
  // [end]
}
