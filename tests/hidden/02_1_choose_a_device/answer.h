// What an answer to exercise 2.1 defines.
#include "ferry.h"

FyDevice choose_device(const char *requested, int cuda_devices, bool mps_available);
FyDevice device_here(const char *requested);
