// Exercise 4.1: Find the bug: a benchmark             lesson 4 · easy · 10 min
//
// Task      seconds_per_turn measures the time of one iteration of `work`:
//               start = time.perf_counter()
//               for _ in range(iterations): work()
//               return (time.perf_counter() - start) / iterations
//           On the CPU, the results are correct. On a GPU, they are far too
//           small and hardly depend on the amount of work. If the GPU is busy
//           before the call, they are too large.
// Example   10 iterations of 2 ms: expected 0.002, but a GPU gives 0.00001
// Fix       seconds_per_turn
// Inputs    work           enqueues work on the current stream of `device`
//           context        the argument for each call of work
//           iterations     1 to 500
//           device         the CPU or any CUDA device, may be busy
//           seconds_now()  reads the clock, in seconds
// Required  - two clock readings that enclose all work of the iterations and
//             no other work
//           - at least one warm-up iteration in each call
// Stars     ** no synchronization between the iterations
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int iterations, FyDevice device) {
  // [answer]
  work(context);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i < iterations; i++)
    work(context);
  fy_synchronize(device);
  return (seconds_now() - start) / iterations;
  // [stub]
  //| work(context);
  //| double start = seconds_now();
  //| for (int i = 0; i < iterations; i++)
  //|   work(context);
  //| return (seconds_now() - start) / iterations;
  // [end]
}
