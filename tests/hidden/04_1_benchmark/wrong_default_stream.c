// mistake: waited for another device or stream
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  work(context);
  fy_stream_synchronize(fy_default_stream(device));
  double start = seconds_now();
  for (int i = 0; i < turns; i++)
    work(context);
  fy_stream_synchronize(fy_default_stream(device));
  return (seconds_now() - start) / turns;
}
