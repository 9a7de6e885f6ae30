// mistake: synchronised after the clock was stopped
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  work(context);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i < turns; i++)
    work(context);
  double stop = seconds_now();
  fy_synchronize(device);
  return (stop - start) / turns;
}
