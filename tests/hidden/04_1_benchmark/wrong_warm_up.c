// mistake: the warm-up on the clock
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  fy_synchronize(device);
  double start = seconds_now();
  work(context);
  for (int i = 0; i < turns; i++)
    work(context);
  fy_synchronize(device);
  double stop = seconds_now();
  return (stop - start) / turns;
}
