// mistake: inverted ratio
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  for (int i = 0; i < 5; i++)
    step();
  barrier();
  double begin = now();
  for (int i = 0; i < steps; i++)
    step();
  double seconds = slowest(now() - begin);
  return ranks * alone / ((double)ranks * batch * steps / seconds);
}
