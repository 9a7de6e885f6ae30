#include "ferry.h"
#include <stdlib.h>
#include <string.h>

static int by_key(const void *a, const void *b) {
  return strcmp(((const FyAverage *)a)->key, ((const FyAverage *)b)->key);
}

static int by_time(const void *a, const void *b) {
  double x = ((const FyAverage *)a)->self_cpu_time_total, y = ((const FyAverage *)b)->self_cpu_time_total;
  return (x < y) - (x > y);
}

// Sorts a copy of the rows twice: by name, so that those of one op follow each other and can be added up, then by time.
int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  size_t bytes = (size_t)averages->count * sizeof(FyAverage);
  FyAverage *rows = malloc(bytes + 1);
  int ops = 0, found = 0;
  memcpy(rows, averages->rows, bytes);
  qsort(rows, (size_t)averages->count, sizeof *rows, by_key);
  for (int i = 0; i < averages->count; i++) {
    if (strncmp(rows[i].key, "fy::", 4) != 0)
      continue;
    if (ops && strcmp(rows[ops - 1].key, rows[i].key) == 0)
      rows[ops - 1].self_cpu_time_total += rows[i].self_cpu_time_total;
    else
      rows[ops++] = rows[i];
  }
  qsort(rows, (size_t)ops, sizeof *rows, by_time);
  for (; found < 3 && found < ops; found++) {
    keys[found] = rows[found].key;
    milliseconds[found] = rows[found].self_cpu_time_total * 1e-3;
  }
  free(rows);
  return found;
}
