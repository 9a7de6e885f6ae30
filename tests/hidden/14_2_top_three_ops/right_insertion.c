// No list: each op is summed up at its first row, and inserted into the best three.
#include "ferry.h"
#include <string.h>

static bool is_first(const FyKeyAverages *averages, int row) {
  for (int i = 0; i < row; i++)
    if (!strcmp(averages->rows[i].key, averages->rows[row].key))
      return false;
  return true;
}

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  int found = 0;
  for (int row = 0; row < averages->count; row++) {
    const char *key = averages->rows[row].key;
    if (strstr(key, "fy::") != key || !is_first(averages, row))
      continue;
    double time = 0;
    for (int i = row; i < averages->count; i++)
      time += strcmp(averages->rows[i].key, key) ? 0 : averages->rows[i].self_cpu_time_total / 1e3;
    int at = found;
    while (at > 0 && milliseconds[at - 1] < time)
      at--;
    for (int i = found < 3 ? found : 2; i > at; i--) {
      keys[i] = keys[i - 1];
      milliseconds[i] = milliseconds[i - 1];
    }
    if (at < 3) {
      keys[at] = key;
      milliseconds[at] = time;
    }
    found += found < 3;
  }
  return found;
}
