// mistake: out-of-bounds index
#include "ferry.h"

#ifndef ANSWER_H // the tests declare it all before they compile your file; here it is for you and your editor
typedef struct Comparison {
  double cpu, gpu, times_as_fast;
} Comparison;

FyTensor *product(FyTensor *x, FyTensor *y);
double seconds_now(void);
#endif

enum { MOST_RUNS = 3 };

static double median(double *times, int count) {
  for (int i = 1; i < count; i++) // sorted by insertion
    for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
      double larger = times[k - 1];
      times[k - 1] = times[k];
      times[k] = larger;
    }
  return (times[(count - 1) / 2] + times[count / 2]) / 2; // the same one twice where count is odd
}

static double median_seconds(FyTensor *a, FyTensor *b, FyDevice device, int runs) {
  double times[MOST_RUNS];
  product(a, b);
  for (int i = 0; i < runs; i++) {
    fy_scope {
      fy_synchronize(device);
      double start = seconds_now();
      product(a, b);
      fy_synchronize(device);
      times[i] = seconds_now() - start;
    }
  }
  return median(times, runs);
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  double on_cpu = median_seconds(a, b, FY_CPU_DEVICE, runs);
  double on_gpu = median_seconds(fy_to(a, gpu), fy_to(b, gpu), gpu, runs);
  *result = (Comparison){on_cpu, on_gpu, on_cpu / on_gpu};
}
