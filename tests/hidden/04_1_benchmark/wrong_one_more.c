// mistake: too many iterations measured
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  work(context);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i <= iterations; i++)
    work(context);
  fy_synchronize(device);
  return (seconds_now() - start) / iterations;
}
