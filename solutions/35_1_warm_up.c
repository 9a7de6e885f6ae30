// Exercise 35.1: Warm-up and cosine decay          lesson 35 · easy · 20 min
//
// Task      Compute the learning rate of a training step. In the first `warmup`
//           steps, it rises in equal steps to `top`. Then it follows half a
//           period of a cosine down to `low`, and stays there:
//               rate = low + (top - low) * (1 + cos(pi * progress)) / 2
//               progress = share of the steps after warm-up that are done
// Example   warmup = 4, steps = 8, top = 8, low = 0
//               step  0  1  2  3  4    5    6    7   8   9
//               rate  2  4  6  8  8  6.83   4  1.17  0   0
// Write     learning_rate. It returns the rate of `step`.
// Inputs    step      0 or more; 0 is the first step
//           warmup    0 to steps; 0: no warm-up
//           steps     1 to 2^40; from step `steps` on, the rate is `low`
//           top, low  0 <= low <= top
// Required  - correct to 1e-5 for every step, in any order of the calls
#include "ferry.h"
#include <math.h>

double learning_rate(int64_t step, int64_t warmup, int64_t steps, double top, double low) {
  // [answer]
  if (step < warmup)
    return top * (double)(step + 1) / (double)warmup;
  if (step >= steps)
    return low;
  double progress = (double)(step - warmup) / (double)(steps - warmup); // warmup <= step < steps: not 0 / 0
  return low + (top - low) * (1 + cos(acos(-1) * progress)) / 2;
  // [stub]
  //| return -1; // the rate goes here
  // [end]
}
