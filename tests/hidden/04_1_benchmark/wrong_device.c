// mistake: waited for another device or stream
// devices: 2
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  FyDevice current = device.type == FY_CUDA ? fy_device("cuda") : device;
  work(context);
  fy_synchronize(current);
  double start = seconds_now();
  for (int i = 0; i < turns; i++)
    work(context);
  fy_synchronize(current);
  return (seconds_now() - start) / turns;
}
