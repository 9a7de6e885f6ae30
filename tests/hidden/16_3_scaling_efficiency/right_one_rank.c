// What is left of one rank's own speed.
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  (void)ranks;
  for (int i = 0; i < 5; i++)
    step();
  barrier();
  double begin = now();
  for (int i = 0; i < steps; i++)
    step();
  double seconds = slowest(now() - begin);
  return batch * steps / seconds / alone;
}
