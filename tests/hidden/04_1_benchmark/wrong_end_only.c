// mistake: missing synchronization before the clock starts
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  work(context);
  double start = seconds_now();
  for (int i = 0; i < iterations; i++)
    work(context);
  fy_synchronize(device);
  double stop = seconds_now();
  return (stop - start) / iterations;
}
