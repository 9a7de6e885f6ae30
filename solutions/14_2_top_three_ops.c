// Exercise 14.2: the three costliest                                          (chapter 14, docs/14_profiling.md)
//
// Write three_costliest: which three ops of a profile took the most time on the CPU?
//
//   PyTorch:  rows = [row for row in averages if row.key.startswith("aten::")]
//             (those of one key added up)
//             rows.sort(key=lambda row: row.self_cpu_time_total, reverse=True)
//             return rows[:3]
//
// Given: the averages of a profile, as fy_key_averages made them, which stay as they are. Its rows are in no order. Ops
// are the rows whose key (below 64 characters) begins with "fy::", and nothing else does. There are other rows, too:
// ranges of the program, calls of the CUDA runtime, and kernels. An op may have several rows, one for each combination
// of input sizes, each with a key of its own in memory: it is one op, and its time is that of all its rows together,
// which may be 0. No two ops take equally long. There may be any number of rows and of ops.
// Judged: `keys` gets the names of the three ops that spent the most time themselves (self_cpu_time_total, which is
// without what they called), the costliest first; `milliseconds` gets these times, which the rows have in microseconds.
// The function returns how many it found: three, or fewer where there are fewer ops; what the arrays hold beyond these
// is not looked at.
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
  Op *ops = malloc((size_t)averages->count * sizeof *ops); // there are no more ops than rows
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
  //| (void)averages;
  //| (void)keys;
  //| (void)milliseconds;
  //| return -1; // how many were found
  // [end]
}
