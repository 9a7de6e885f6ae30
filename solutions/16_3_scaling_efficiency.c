// Exercise 16.3: scaling efficiency, measured right                           (chapter 16, docs/16_distributed.md)
//
// Write scaling_efficiency: how much of the speed of `ranks` ranks is left when they train one model together? It is
// called in every rank.
//
//   PyTorch:  for _ in range(5): step()
//             dist.barrier(); begin = time.perf_counter()
//             for _ in range(steps): step()
//             seconds = torch.tensor(time.perf_counter() - begin); dist.all_reduce(seconds, op=dist.ReduceOp.MAX)
//             return ranks * batch * steps / seconds.item() / (ranks * alone)
//
// Given: how many ranks there are; how many samples a step of one rank has (`batch`); how many steps to measure (at
// least 1); `alone`, the samples per second of one rank that trains by itself; and four functions. step makes one step
// in this rank and returns when it is done. The first five steps take longer than all others. barrier returns when all
// ranks have called it. now tells the time in seconds. slowest takes the seconds that all of this rank's measured steps
// took together, and returns the largest of all ranks'. All ranks call the same. After the warm-up some ranks may be
// busy with something else for a while. Returned: the samples per second of all ranks together, by the rank that took
// longest, over `ranks` times `alone`. Judged: that number. Counted: five steps to warm up and `steps` steps that are
// measured, and no others.
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  // [answer]
  for (int i = 0; i < 5; i++)
    step();
  barrier(); // nobody waits for a late rank while the clock runs
  double begin = now();
  for (int i = 0; i < steps; i++)
    step();
  double seconds = slowest(now() - begin), together = (double)ranks * batch * steps / seconds;
  return together / (ranks * alone);
  // [stub]
  //| (void)ranks;
  //| (void)batch;
  //| (void)steps;
  //| (void)alone;
  //| (void)step;
  //| (void)barrier;
  //| (void)now;
  //| (void)slowest;
  //| return -1;
  // [end]
}
