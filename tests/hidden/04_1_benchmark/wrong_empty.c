// mistake: the clock was not read twice
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  (void)work;
  (void)context;
  (void)turns;
  (void)device;
  return 0;
}
