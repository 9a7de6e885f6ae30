// mistake: missing warm-up
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  barrier();
  double begin = now();
  for (int i = 0; i < 5; i++)
    step();
  for (int i = 0; i < steps; i++)
    step();
  double seconds = slowest(now() - begin);
  return (double)ranks * batch * steps / seconds / (ranks * alone);
}
