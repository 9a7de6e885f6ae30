// mistake: slowest called in each step
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  for (int i = 0; i < 5; i++) {
    step();
  }
  barrier();
  double seconds = 0;
  for (int i = 0; i < steps; i++) {
    const double begin = now();
    step();
    seconds += slowest(now() - begin);
  }
  return (double)ranks * batch * steps / seconds / (ranks * alone);
}
