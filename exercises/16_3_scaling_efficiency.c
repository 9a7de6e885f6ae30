// Exercise 16.3: Scaling efficiency                 lesson 16 · medium · 30 min
//
// Task      Measure the scaling efficiency of data-parallel training. It is the
//           throughput of all ranks together, divided by `ranks` times that of
//           a single rank. Every rank calls the function. In PyTorch:
//               for _ in range(5): step()
//               dist.barrier(); begin = time.perf_counter()
//               for _ in range(steps): step()
//               t = torch.tensor(time.perf_counter() - begin)
//               dist.all_reduce(t, op=dist.ReduceOp.MAX)
// Example   4 ranks, 300 samples/s together, 100 by a single rank  ->  0.75
// Write     scaling_efficiency.
// Inputs    ranks, batch    2 or more ranks, with batch samples each per step
//           steps           number of steps to measure, 1 or more
//           single          samples per second of a single rank
//           step, now       run a training step; return the time in seconds
//           barrier         waits for all ranks, some of which may be late
//           slowest(s)      the largest s of all ranks; each rank calls it once
// Required  - the time is that of the slowest rank for all measured steps
//           - 5 warm-up steps come first; the measured time includes neither
//             these nor the wait for a late rank
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double single, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  return -1;
}
