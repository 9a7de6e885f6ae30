// Compares times: what a single rank would need, over the slowest rank's. Barriers around everything.
#include "ferry.h"

static double timed(int count, void (*step)(void), void (*barrier)(void), double (*now)(void)) {
  barrier();
  const double begin = now();
  while (count-- > 0)
    step();
  const double end = now();
  barrier();
  return end - begin;
}

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  (void)ranks;
  timed(5, step, barrier, now)
    ;
  const double ideal = (double)steps * batch / alone;
  return ideal / slowest(timed(steps, step, barrier, now));
}
