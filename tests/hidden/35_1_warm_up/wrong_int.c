// mistake: integer overflow
#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  int now = (int)step, all = (int)steps, rising = (int)warmup;
  if (now < rising)
    return top * (now + 1) / rising;
  if (now >= all)
    return low;
  double progress = (double)(now - rising) / (all - rising);
  return low + (top - low) * (1 + cos(3.14159265358979 * progress)) / 2;
}
