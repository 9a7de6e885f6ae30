// mistake: prefix comparison of strings
#include "ferry.h"
#include <string.h>

typedef struct Op {
  const char *key;
  double self; // microseconds
} Op;

enum { MOST = 400 };

static Op *op_of(Op *ops, int *count, const char *key) {
  for (int i = 0; i < *count; i++)
    if (strncmp(key, ops[i].key, strlen(ops[i].key)) == 0)
      return &ops[i];
  if (*count == MOST)
    fy_raise(FY_RUNTIME_ERROR, "more than %d ops in one profile", MOST);
  ops[*count] = (Op){.key = key};
  return &ops[(*count)++];
}

int three_costliest(const FyKeyAverages *averages, const char *keys[3], double milliseconds[3]) {
  Op ops[MOST];
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
  return found;
}
