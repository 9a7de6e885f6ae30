// mistake: warm-up missing
#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  if (step >= steps)
    return low;
  double progress = (double)step / (double)steps + 0 * (double)warmup;
  return low + (top - low) * (1 + cos(3.14159265358979 * progress)) / 2;
}
