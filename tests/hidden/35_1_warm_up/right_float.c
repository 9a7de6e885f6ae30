#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  float rate = (float)low;
  if (step < warmup) {
    rate = (float)top * ((float)step + 1.0f) / (float)warmup;
  } else if (step < steps) {
    float t = (float)(step - warmup) / (float)(steps - warmup);
    rate = (float)low + 0.5f * ((float)top - (float)low) * (1.0f + cosf(3.14159265f * t));
  }
  return rate;
}
