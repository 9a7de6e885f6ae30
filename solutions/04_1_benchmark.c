// Exercise 4.1: Find the bug: a benchmark             lesson 4 · easy · 10 min
//
// Task      seconds_per_turn measures one iteration of some work on a device:
//               start = time.perf_counter()
//               for _ in range(iterations): work()
//               return (time.perf_counter() - start) / iterations
//           On the CPU its results are right. On a GPU they are far too small,
//           and almost the same for little work and for much. They are too
//           large if the device was busy before the call.
// Example   10 iterations of 2 ms each: expected 0.002, a GPU gives 0.00001
// Fix       seconds_per_turn
// Inputs    work           starts work on the current stream of `device`
//           context        the argument of work
//           iterations     1 to 500
//           device         the CPU or any CUDA device; it may still be busy
//           seconds_now()  the clock, in seconds
// Required  - the clock is read twice, around all of the iterations' work and
//             no other
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
