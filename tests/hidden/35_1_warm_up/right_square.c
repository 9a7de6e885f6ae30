#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  if (step >= steps)
    return low;
  if (step < warmup)
    return top / ((double)warmup / (double)(step + 1));
  double c = cos(M_PI / 2 * (double)(step - warmup) / (double)(steps - warmup));
  return c * c * top + (1 - c * c) * low; // (1 + cos(2 a)) / 2 is the square of cos(a)
}
