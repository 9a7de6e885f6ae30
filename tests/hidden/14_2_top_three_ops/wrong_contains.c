// mistake: rows not filtered by prefix
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

typedef struct Op {
  const char *key;
  double time;
} Op;

static int by_time(const void *a, const void *b) {
  const Op *first = a, *second = b;
  return (first->time < second->time) - (first->time > second->time);
}

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  Op *ops = malloc(((size_t)averages->count + 1) * sizeof *ops);
  fy_check(ops != NULL, FY_OUT_OF_MEMORY_ERROR, "no memory for the ops");
  int count = 0;
  for (int i = 0; i < averages->count; i++) {
    const FyAverage *row = &averages->rows[i];
    if (strstr(row->key, "fy::") == NULL)
      continue;
    int k = 0;
    while (k < count && strcmp(ops[k].key, row->key) != 0)
      k++;
    if (k == count)
      ops[count++] = (Op){.key = row->key};
    ops[k].time += row->self_cpu_time_total;
  }
  qsort(ops, (size_t)count, sizeof *ops, by_time);
  int found = count < 3 ? count : 3;
  for (int k = 0; k < found; k++) {
    keys[k] = ops[k].key;
    milliseconds[k] = ops[k].time / 1000;
  }
  free(ops);
  return found;
}
