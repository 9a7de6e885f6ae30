// mistake: decay to 0 instead of low
#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  if (step < warmup)
    return top * (double)(step + 1) / (double)warmup;
  if (step >= steps)
    return low;
  double progress = (double)(step - warmup) / (double)(steps - warmup);
  return top * (1 + cos(3.14159265358979 * progress)) / 2;
}
