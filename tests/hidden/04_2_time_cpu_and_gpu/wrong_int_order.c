// mistake: median of unsorted times
#include "ferry.h"
#include <stdlib.h>

enum { ROOM = 32 };

// Where two times are less than a second apart this is 0: "equal".
static int order(const void *a, const void *b) {
  double apart = *(const double *)a - *(const double *)b;
  return (int)apart;
}

static double median_of(FyTensor *a, FyTensor *b, FyDevice device, int runs) {
  double seconds[ROOM];
  product(a, b); // warms up
  fy_synchronize(device);
  for (int run = 0; run < runs; run++) {
    double begin = seconds_now();
    product(a, b);
    fy_synchronize(device);
    seconds[run] = seconds_now() - begin;
  }
  qsort(seconds, (size_t)runs, sizeof seconds[0], order);
  return 0.5 * (seconds[(runs - 1) / 2] + seconds[runs / 2]);
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  FyTensor *a_there = fy_to(a, gpu), *b_there = fy_to(b, gpu);
  result->cpu = median_of(a, b, FY_CPU_DEVICE, runs);
  result->gpu = median_of(a_there, b_there, gpu, runs);
  result->times_as_fast = result->cpu / result->gpu;
}
