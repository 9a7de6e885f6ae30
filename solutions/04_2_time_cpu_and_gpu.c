// Exercise 4.2: Time the CPU and the GPU            lesson 4 · medium · 30 min
//
// Task      Measure the speedup of a GPU over the CPU for a matrix product. On
//           each device, take the median of `runs` measured times:
//               a @ b                                    # warm-up
//               torch.cuda.synchronize(); start = time.perf_counter()
//               a @ b; torch.cuda.synchronize()
//               times.append(time.perf_counter() - start)
// Example   times 3 1 8 2   ->   median 2.5, the mean of 2 and 3
// Write     compare, which stores the two medians and cpu / gpu in *result
// Inputs    a, b           float32 on the CPU, (m, k), (k, n); sizes at least 1
//           gpu            any CUDA device; all of its streams may be busy
//           runs           1 to 25
//           product(x, y)  computes x @ y; call it in every run
//           seconds_now()  reads the clock, in seconds
// Required  - on each device, a warm-up, then `runs` products, each between
//             two clock readings
//           - when the clock starts, the device is idle; when the clock stops,
//             the product has finished
//           - no copy between host and device while the clock runs
#include "ferry.h"

#ifndef ANSWER_H // the tests declare these
typedef struct Comparison {
  double cpu, gpu, times_as_fast;
} Comparison;

FyTensor *product(FyTensor *x, FyTensor *y);
double seconds_now(void);
#endif

// [answer]
enum { MAX_RUNS = 25 };

static double median(double *times, int count) {
  for (int i = 1; i < count; i++) // insertion sort
    for (int k = i; k > 0 && times[k] < times[k - 1]; k--) {
      double swapped = times[k - 1];
      times[k - 1] = times[k];
      times[k] = swapped;
    }
  return (times[(count - 1) / 2] + times[count / 2]) / 2; // the same element twice if count is odd
}

static double median_seconds(FyTensor *a, FyTensor *b, FyDevice device, int runs) {
  double times[MAX_RUNS];
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

// [stub]
// [end]
void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  // [answer]
  double on_cpu = median_seconds(a, b, FY_CPU_DEVICE, runs);
  double on_gpu = median_seconds(fy_to(a, gpu), fy_to(b, gpu), gpu, runs);
  *result = (Comparison){on_cpu, on_gpu, on_cpu / on_gpu};
  // [stub]
  //| *result = (Comparison){0};
  // [end]
}
