#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  if (step < warmup)
    return (step + 1) * (top / warmup);
  double done = warmup < steps ? fmin(1.0, (step - warmup) / (double)(steps - warmup)) : 1.0;
  return top - (top - low) * (1 - cos(M_PI * done)) / 2;
}
