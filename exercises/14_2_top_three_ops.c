// Exercise 14.2: The three most expensive ops      lesson 14 · medium · 30 min
//
// Task      Find the three ops of a profile with the largest self CPU time: the
//           time of an op without the ops that it called. In PyTorch:
//               rows = [r for r in averages if r.key.startswith("aten::")]
//               ...        # add up the rows with the same key
//               rows.sort(key=lambda r: r.self_cpu_time_total, reverse=True)
//               return rows[:3]
// Example   rows fy::add 100 us, fy::mul 250, epoch 900, fy::add 200
//           ->  keys fy::add, fy::mul; milliseconds 0.3, 0.25; returns 2
// Write     three_costliest. It returns the number of ops found, at most 3.
// Inputs    averages  any number of rows, in any order. The key of an op begins
//                     with "fy::"; other rows are ranges, runtime calls and
//                     kernels. An op can have several rows, one per combination
//                     of input sizes, each with its own copy of the key. Times
//                     are in microseconds, may be 0, and differ between ops
// Required  - keys and milliseconds of the ops found, most expensive first;
//             milliseconds[i] is the op's total self_cpu_time_total in all rows
//           - averages is not changed
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  return -1; // how many were found
}
