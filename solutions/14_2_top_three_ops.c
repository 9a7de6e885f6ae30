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
// [answer]

typedef struct Op {
  const char *key;
  double self; // microseconds
} Op;

static Op *op_of(Op *ops, int *count, const char *key) {
  for (int i = 0; i < *count; i++)
    if (strcmp(ops[i].key, key) == 0)
      return &ops[i];
  ops[*count] = (Op){.key = key};
  return &ops[(*count)++];
}
// [end]

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  // [answer]
  Op *ops = malloc((size_t)averages->count * sizeof *ops); // there are at most as many ops as rows
  int count = 0, found = 0;
  for (int i = 0; i < averages->count; i++)
    if (strncmp(averages->rows[i].key, "fy::", 4) == 0)
      op_of(ops, &count, averages->rows[i].key)->self += averages->rows[i].self_cpu_time_total;
  for (; found < 3 && found < count; found++) {
    int best = found;
    for (int i = found; i < count; i++)
      if (ops[i].self > ops[best].self)
        best = i;
    Op op = ops[best];
    ops[best] = ops[found];
    keys[found] = op.key;
    milliseconds[found] = op.self / 1000;
  }
  free(ops);
  return found;
  // [stub]
  //| return -1; // how many were found
  // [end]
}
