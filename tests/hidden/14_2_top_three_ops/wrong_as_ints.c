// mistake: comparator truncates to int
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

typedef struct Op {
  const char *key;
  double microseconds;
} Op;

static int by_time(const void *a, const void *b) {
  return (int)(((const Op *)b)->microseconds - ((const Op *)a)->microseconds);
}

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  Op *ops = malloc(sizeof *ops * ((size_t)averages->count + 1));
  int count = 0;
  for (int i = 0; i < averages->count; i++) {
    const FyAverage *row = &averages->rows[i];
    if (strncmp(row->key, "fy::", 4) == 0) {
      int at = 0;
      while (at < count && strcmp(ops[at].key, row->key) != 0) {
        at++;
      }
      if (at == count) {
        ops[count++] = (Op){.key = row->key};
      }
      ops[at].microseconds += row->self_cpu_time_total;
    }
  }
  qsort(ops, (size_t)count, sizeof *ops, by_time);
  int found = count < 3 ? count : 3;
  for (int i = 0; i < found; i++) {
    keys[i] = ops[i].key;
    milliseconds[i] = ops[i].microseconds / 1000;
  }
  free(ops);
  return found;
}
