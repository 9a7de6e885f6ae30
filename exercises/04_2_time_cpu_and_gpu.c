// Exercise 4.2: Time the CPU and the GPU            lesson 4 · medium · 30 min
//
// Task      Measure how many times as fast as the CPU a GPU multiplies two
//           matrices. On each, take the median of `runs` times:
//               a @ b                                    # warm-up
//               torch.cuda.synchronize(); start = time.perf_counter()
//               a @ b; torch.cuda.synchronize()
//               times.append(time.perf_counter() - start)
// Example   times 3 1 8 2   ->   median 2.5, the mean of 2 and 3
// Write     compare: fills in the two medians, and cpu / gpu
// Inputs    a, b           float32 on the CPU, (m, k), (k, n); sizes at least 1
//           gpu            any CUDA device, may be busy in any of its streams
//           runs           1 to 25
//           product(x, y)  the matrix product; call it for every run
//           seconds_now()  the clock, in seconds
// Required  - a warm-up on each device, then `runs` products, each between
//             two readings of the clock
//           - the device is idle when the clock starts, and the product has
//             finished when it stops
//           - no copy between host and device while the clock runs
#include "ferry.h"

#ifndef ANSWER_H // the tests declare these themselves
typedef struct Comparison {
  double cpu, gpu, times_as_fast;
} Comparison;

FyTensor *product(FyTensor *x, FyTensor *y);
double seconds_now(void);
#endif

void compare(FyTensor *a, FyTensor *b, FyDevice gpu, int runs, Comparison *result) {
  *result = (Comparison){0};
}
