// mistake: clock not read twice
#include "ferry.h"
#include <time.h>

typedef void (*Work)(void *context);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  work(context);
  fy_synchronize(device);
  clock_t start = clock();
  for (int i = 0; i < iterations; i++)
    work(context);
  fy_synchronize(device);
  return (double)(clock() - start) / CLOCKS_PER_SEC / iterations;
}
