// The number of samples first.
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
  int samples = steps * batch * ranks;
  double together = samples / seconds;
  return together / (ranks * alone);
}
