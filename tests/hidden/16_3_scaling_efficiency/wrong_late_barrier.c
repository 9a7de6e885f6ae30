// mistake: waiting for a late rank in the measured time
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  for (int i = 0; i < 5; i++)
    step();
  double begin = now();
  barrier();
  for (int i = 0; i < steps; i++)
    step();
  double seconds = slowest(now() - begin);
  return (double)ranks * batch * steps / seconds / (ranks * alone);
}
