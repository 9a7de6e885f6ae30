// The warm-up is measured like the other products, and its time is discarded.
#include "ferry.h"

static double median_of(FyTensor *a, FyTensor *b, int runs) {
  FyDevice device = fy_device_of(a);
  double sorted[26];
  int count = 0;
  for (int run = -1; run < runs; run++) {
    fy_synchronize(device);
    const double start = seconds_now();
    FyTensor *c = product(a, b);
    fy_synchronize(device);
    const double time = seconds_now() - start;
    fy_drop(c);
    if (run < 0)
      continue;
    int at = count++;
    for (; at > 0 && sorted[at - 1] > time; at--)
      sorted[at] = sorted[at - 1];
    sorted[at] = time;
  }
  return runs % 2 ? sorted[runs / 2] : 0.5 * (sorted[runs / 2 - 1] + sorted[runs / 2]);
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  result->cpu = median_of(a, b, runs);
  result->gpu = median_of(fy_to(a, gpu), fy_to(b, gpu), runs);
  result->times_as_fast = result->cpu / result->gpu;
}
