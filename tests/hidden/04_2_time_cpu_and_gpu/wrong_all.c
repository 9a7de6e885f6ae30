// mistake: one measurement for all runs
#include "ferry.h"

enum { MOST_RUNS = 25 };

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
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i < runs; i++)
    product(a, b);
  fy_synchronize(device);
  times[0] = (seconds_now() - start) / runs;
  return median(times, 1);
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  double on_cpu = median_seconds(a, b, FY_CPU_DEVICE, runs);
  double on_gpu = median_seconds(fy_to(a, gpu), fy_to(b, gpu), gpu, runs);
  *result = (Comparison){on_cpu, on_gpu, on_cpu / on_gpu};
}
