// Exercise 4.1: find the bug, a clock that does not wait              (chapter 4, docs/04_benchmarks.md)
//
// seconds_per_turn is to tell how long one turn of some work takes on a device. On the CPU its numbers are right. On a
// GPU they are a thousand times too good, and nearly the same for a little work and for a lot; and now and then, when
// the device was busy before, the first of several measurements comes out too large.
//
// Mend it, so that the clock sees the `turns` turns from beginning to end, and nothing else.
//
//   PyTorch:  start = time.perf_counter()
//             for _ in range(turns): work()
//             return (time.perf_counter() - start) / turns
//
// Given: work(context), which starts some work on the current stream of `device` and returns; turns, 1 to 500; a
// device, which may be the CPU; seconds_now(), the clock, in seconds. The device's other streams have nothing to do. In
// each call one turn is run beforehand, unmeasured, as a warm-up.
// Judged: what has arrived when the clock is read; how the host waits is yours, but not between the turns: the turns
// are to follow each other as they do in a program. At least one turn comes before the clock is started, and exactly
// `turns` while it runs. No clock decides whether you pass.
#include "ferry.h"

typedef void (*Work)(void *context);
double seconds_now(void);

double seconds_per_turn(Work work, void *context, int turns, FyDevice device) {
  // [answer]
  work(context);
  fy_synchronize(device);
  double start = seconds_now();
  for (int i = 0; i < turns; i++)
    work(context);
  fy_synchronize(device);
  return (seconds_now() - start) / turns;
  // [stub]
  //| (void)device;
  //| work(context);
  //| double start = seconds_now();
  //| for (int i = 0; i < turns; i++)
  //|   work(context);
  //| return (seconds_now() - start) / turns;
  // [end]
}
