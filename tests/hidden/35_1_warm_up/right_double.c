#include "ferry.h"
#include <math.h>

static double part(double done, double all) {
  return all > 0 ? done / all : 1;
}

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  double s = (double)step, w = (double)warmup, n = (double)steps;
  double up = part(s + 1, w), down = part(s - w, n - w);
  if (up <= 1 && s < w)
    return up * top;
  return down >= 1 ? low : 0.5 * (top + low) + 0.5 * (top - low) * cos(down * 4 * atan(1));
}
