// mistake: missing synchronization before the clock stops
#include "ferry.h"

static double middle_of(double *times, int count) {
  for (int i = 1; i < count; i++)
    for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
      double larger = times[k - 1];
      times[k - 1] = times[k];
      times[k] = larger;
    }
  return (times[(count - 1) / 2] + times[count / 2]) / 2;
}

static void finish(FyDevice device) {
  if (device.type == FY_CUDA)
    fy_stream_synchronize(fy_default_stream(device));
}

static double usual(FyTensor *a, FyTensor *b, FyDevice device, int runs) {
  double times[25];
  product(a, b);
  fy_synchronize(device);
  for (int i = 0; i < runs; i++) {
    finish(device);
    double start = seconds_now();
    product(a, b);
    finish(device);
    times[i] = seconds_now() - start;
  }
  return middle_of(times, runs);
}

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  double cpu = usual(a, b, FY_CPU_DEVICE, runs), there = usual(fy_to(a, gpu), fy_to(b, gpu), gpu, runs);
  *result = (Comparison){cpu, there, cpu / there};
}
