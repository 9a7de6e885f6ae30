// mistake: wrong stream or device synchronized
// devices: 2
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  FyDevice current = device.type == FY_CUDA ? fy_device("cuda") : device;
  work(context);
  fy_synchronize(current);
  double start = seconds_now();
  for (int i = 0; i < iterations; i++)
    work(context);
  fy_synchronize(current);
  return (seconds_now() - start) / iterations;
}
