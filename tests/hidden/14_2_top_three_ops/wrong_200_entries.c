// mistake: out-of-bounds index
#include "ferry.h"
#include <string.h>

typedef struct Entry {
  const char *key;
  double time, measure, calls;
  bool taken;
} Entry;

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  Entry list[200] = {{0}};
  int count = 0, found = 0;
  for (int i = 0; i < averages->count; i++) {
    const FyAverage *row = &averages->rows[i];
    if (!(strncmp(row->key, "fy::", 4) == 0))
      continue;
    int k = 0;
    while (k < count && strcmp(list[k].key, row->key) != 0)
      k++;
    if (k == count)
      list[count++].key = row->key;
    list[k].time += row->self_cpu_time_total;
    list[k].measure += row->self_cpu_time_total;
    list[k].calls += (double)row->count;
  }
  for (found = 0; found < 3 && found < count; found++) {
    int best = -1;
    for (int k = 0; k < count; k++)
      if (!list[k].taken && (best < 0 || list[k].measure > list[best].measure))
        best = k;
    list[best].taken = true;
    keys[found] = list[best].key;
    milliseconds[found] = list[best].time / 1000;
  }
  return found;
}
