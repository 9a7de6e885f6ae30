// missing star: synchronization in every iteration
#include "ferry.h"

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  work(context);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 1; i <= iterations; i++) {
    work(context);
    if (i % 256 == 0)
      fy_synchronize(device);
  }
  fy_synchronize(device);
  return (seconds_now() - start) / iterations;
}
