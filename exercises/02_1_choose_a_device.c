// Exercise 2.1: Choose a device                       lesson 2 · easy · 15 min
//
// Task      Choose the device that the user requests. If the machine does not
//           have this device, choose the best device of the machine: CUDA,
//           otherwise mps, otherwise the CPU. Your program then runs on every
//           machine, like a PyTorch program with
//               torch.device("cuda" if torch.cuda.is_available() else "cpu")
// Example   choose_device("cuda:1", 2, false)   ->   cuda:1
//           choose_device("cuda:3", 2, false)   ->   cuda:0
// Write     choose_device for a machine that the arguments describe, and
//           device_here for the machine that runs the program
// Inputs    requested      "auto" (the best), "cpu", "mps", "cuda" or "cuda:N";
//                          N is 0 to 99, without leading zeros
//           cuda_devices   number of CUDA devices, may be 0
//           mps_available  whether the machine has an Apple GPU
// Required  - the correct device on machines with and without CUDA or mps
//           - no error if the requested device is missing
//           - you may return cuda or cuda:0 as the best CUDA device
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *requested, int cuda_devices, bool mps_available) {
  return FY_CPU_DEVICE; // choose the device instead
}

FyDevice device_here(const char *requested) {
  return choose_device(requested, 0, false); // describe this machine instead
}
