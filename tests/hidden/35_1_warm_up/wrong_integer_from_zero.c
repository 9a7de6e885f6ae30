// mistake: integer division
#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  if (step < warmup)
    return top * (step / warmup);
  if (step >= steps)
    return low;
  double progress = (double)(step - warmup) / (double)(steps - warmup);
  return low + (top - low) * (1 + cos(3.14159265358979 * progress)) / 2;
}
