// mistake: input modified
#include "ferry.h"
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b) {
  double x = ((const FyAverage *)a)->self_cpu_time_total, y = ((const FyAverage *)b)->self_cpu_time_total;
  return (x < y) - (x > y);
}

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  FyAverage *rows = averages->rows;
  int found = 0;
  for (int i = 0; i < averages->count; i++)
    for (int k = 0; k < i; k++)
      if (strcmp(rows[i].key, rows[k].key) == 0) { // into the first row of the op
        rows[k].self_cpu_time_total += rows[i].self_cpu_time_total;
        rows[i].self_cpu_time_total = 0;
        break;
      }
  qsort(rows, (size_t)averages->count, sizeof *rows, by_time);
  for (int i = 0; i < averages->count && found < 3; i++) {
    if (strncmp(rows[i].key, "fy::", 4) != 0 || rows[i].self_cpu_time_total == 0)
      continue;
    keys[found] = rows[i].key;
    milliseconds[found++] = rows[i].self_cpu_time_total / 1000;
  }
  return found;
}
