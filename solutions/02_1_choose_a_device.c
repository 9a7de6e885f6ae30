// Exercise 2.1: choose a device                                                 (chapter 2, docs/02_device_check.md)
//
// A program takes its device from its user, as a word, and runs on machines of all kinds. Write choose_device: the
// device to use for a wish, on a machine with `cuda_devices` CUDA devices and perhaps one of Apple's GPUs. A wish is
//
//   "auto"             the best there is: CUDA first, then mps, then the CPU
//   "cpu"              the CPU, whatever else there is
//   "cuda", "mps"      that kind
//   "cuda:N"           the GPU with that number
//
// A wish for what this machine has not got is answered with the best there is, as "auto" is, and never with an error.
// Then write device_here, the same for the machine that the program runs on.
//
//   PyTorch:  torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
//
// Given: one of these words; N has one or two digits, and no zero in front of another one. The tests describe machines
// that they do not have, so choose_device may not make anything on the device it chooses. For the best GPU, "cuda" and
// "cuda:0" both count as right; of the CPU and of mps only the kind is looked at, not the number.
// Judged: the device, with and without CUDA, and that a tensor can be made on what device_here returns.
#include "ferry.h"
#include <string.h>

FyDevice choose_device(const char *wish, int cuda_devices, bool mps_available) {
  // [answer]
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
  return best;
  // [stub]
  //| (void)wish;
  //| (void)cuda_devices;
  //| (void)mps_available;
  //| return FY_CPU_DEVICE; // what was wished for, if it is there
  // [end]
}

FyDevice device_here(const char *wish) {
  // [answer]
  return choose_device(wish, fy_cuda_device_count(), fy_mps_is_available());
  // [stub]
  //| return choose_device(wish, 0, false); // what does this machine have?
  // [end]
}
