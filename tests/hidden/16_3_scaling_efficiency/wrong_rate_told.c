// mistake: slowest called with a rate
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  int i = 0;
  while (i < 5) {
    step();
    i++;
  }
  barrier();
  const double start = now();
  for (i = 0; i < steps; i++) {
    step();
  }
  const double rate = slowest((double)batch * steps / (now() - start));
  return ranks * rate / (ranks * alone);
}
