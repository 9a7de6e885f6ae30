// mistake: prefix comparison of strings
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

typedef struct Op {
  const char *key;
  double microseconds;
} Op;

static int by_time(const void *a, const void *b) {
  const double x = ((const Op *)a)->microseconds, y = ((const Op *)b)->microseconds;
  return (x < y) - (x > y);
}

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  Op *ops = malloc(((size_t)averages->count + 1) * sizeof *ops);
  int count = 0;
  if (!ops) {
    return 0;
  }
  for (int i = 0; i < averages->count; i++) {
    const FyAverage *row = &averages->rows[i];
    int k = 0;
    if (strncmp(row->key, "fy::", 4) != 0) {
      continue;
    }
    while (k < count && strncmp(ops[k].key, row->key, 24) != 0) {
      k++;
    }
    if (k == count) {
      ops[count++] = (Op){row->key, 0};
    }
    ops[k].microseconds += row->self_cpu_time_total;
  }
  qsort(ops, (size_t)count, sizeof *ops, by_time);
  const int found = count < 3 ? count : 3;
  for (int i = 0; i < found; i++) {
    keys[i] = ops[i].key;
    milliseconds[i] = ops[i].microseconds / 1000;
  }
  free(ops);
  return found;
}
