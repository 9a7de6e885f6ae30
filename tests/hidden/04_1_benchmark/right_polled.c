// Asked until it is done, instead of waited for.
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  work(context);
  while (!fy_stream_query(fy_current_stream(device)))
    ;
  double start = seconds_now();
  for (int i = 0; i < turns; i++)
    work(context);
  while (!fy_stream_query(fy_current_stream(device)))
    ;
  return (seconds_now() - start) / turns;
}
