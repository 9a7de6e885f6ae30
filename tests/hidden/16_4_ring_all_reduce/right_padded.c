#include "ferry.h"
#include <stdlib.h>
#include <string.h>

// The first parts are the larger ones, and the halves are two loops.
static int64_t first(int part, int64_t count, int ranks) {
  int64_t each = count / ranks, more = count % ranks;
  return part * each + (part < more ? part : more);
}

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  float *sum = malloc((size_t)(count / ranks + 1) * sizeof *sum);
  int part = rank;
  for (int step = 1; step < ranks; step++) {
    send(data + first(part, count, ranks), first(part + 1, count, ranks) - first(part, count, ranks));
    part = (part + ranks - 1) % ranks;
    int64_t begin = first(part, count, ranks), size = first(part + 1, count, ranks) - begin;
    receive(sum, size);
    for (int64_t i = 0; i < size; i++)
      data[begin + i] += sum[i];
  }
  for (int step = 1; step < ranks; step++) {
    send(data + first(part, count, ranks), first(part + 1, count, ranks) - first(part, count, ranks));
    part = (part + ranks - 1) % ranks;
    receive(data + first(part, count, ranks), first(part + 1, count, ranks) - first(part, count, ranks));
  }
  free(sum);
}
