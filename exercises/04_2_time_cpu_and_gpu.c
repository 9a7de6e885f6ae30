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

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  *result = (Comparison){0};
}
