// Exercise 16.3: Scaling efficiency                 lesson 16 · medium · 30 min
//
// Task      How much of the speed of `ranks` ranks is left when they train one
//           model together? Measure it: the samples per second of all ranks
//           together, divided by ranks times the speed of one rank alone.
//           PyTorch:  for _ in range(5): step()
//                     dist.barrier(); begin = time.perf_counter()
//                     for _ in range(steps): step()
//                     seconds = slowest(time.perf_counter() - begin)
//                     return ranks * batch * steps / seconds / (ranks * alone)
// Example   2 ranks, 100 samples/s alone, 180 samples/s together   ->   0.9
// Write     scaling_efficiency. It is called in every rank.
// Inputs    ranks, batch, steps   ranks, samples per step of a rank, steps to
//                                 measure
//           alone      samples per second of one rank that trains by itself
//           step       makes one training step of this rank, and returns when
//                      done
//           barrier    returns when all ranks have called it
//           now        the time in seconds
//           slowest    takes the seconds of this rank's measured steps
//                      together, returns the largest of all ranks
// Required  - the efficiency; the product of the sizes may exceed an int
//           - five warm-up steps, then `steps` measured ones
#include "ferry.h"

double scaling_efficiency(int ranks, int batch, int steps, double alone, void (*step)(void), void (*barrier)(void),
                          double (*now)(void), double (*slowest)(double seconds)) {
  // [answer]
  for (int i = 0; i < 5; i++)
    step();
  barrier(); // no rank waits for a late one while the clock runs
  double begin = now();
  for (int i = 0; i < steps; i++)
    step();
  double seconds = slowest(now() - begin), together = (double)ranks * batch * steps / seconds;
  return together / (ranks * alone);
  // [stub]
  //| return -1;
  // [end]
}
