// CPU and GPU alternate, and the median is found by rank.
#include "ferry.h"

static double once(FyTensor *a, FyTensor *b, FyDevice device) {
  double seconds = 0;
  fy_scope {
    fy_synchronize(device);
    seconds = seconds_now();
    product(a, b);
    fy_synchronize(device);
    seconds = seconds_now() - seconds;
  }
  return seconds;
}

// The one that `rank` others come before.
static double ranked(const double *times, int count, int rank) {
  for (int i = 0; i < count; i++) {
    int before = 0;
    for (int k = 0; k < count; k++)
      before += times[k] < times[i] || (times[k] == times[i] && k < i);
    if (before == rank)
      return times[i];
  }
  return 0;
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  double here[25], there[25];
  FyTensor *x = fy_to(a, gpu), *y = fy_to(b, gpu);
  product(a, b);
  product(x, y);
  for (int i = 0; i < runs; i++) {
    here[i] = once(a, b, FY_CPU_DEVICE);
    there[i] = once(x, y, gpu);
  }
  double cpu = (ranked(here, runs, runs / 2) + ranked(here, runs, (runs - 1) / 2)) / 2;
  double on_gpu = (ranked(there, runs, runs / 2) + ranked(there, runs, (runs - 1) / 2)) / 2;
  *result = (Comparison){.cpu = cpu, .gpu = on_gpu, .times_as_fast = cpu / on_gpu};
}
