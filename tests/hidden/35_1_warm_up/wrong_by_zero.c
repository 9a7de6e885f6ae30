// mistake: division by zero
#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  double progress = (double)(step - warmup) / (double)(steps - warmup);
  double rising = (double)(step + 1) / (double)warmup;
  double factor = fmin(rising, 1);
  if (step >= steps)
    progress = (double)(steps - warmup) / (double)(steps - warmup);
  return step < warmup ? top * factor : low + (top - low) * (1 + cos(3.14159265358979 * progress)) / 2;
}
