// mistake: an index outside of an array
#include "ferry.h"
#include <stdlib.h>

// Where part p of n begins.
static int64_t begin_of(int64_t count, int ranks, int p) {
  return count * p / ranks;
}

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  static _Thread_local float *incoming;
  if (!incoming) {
    incoming = malloc((size_t)(count / ranks + 1) * sizeof *incoming);
  }
  fy_check(incoming, FY_OUT_OF_MEMORY_ERROR, "no memory for a part");
  for (int s = 0; s < ranks - 1; s++) {
    const int out = (rank - s + ranks) % ranks, in = (rank - s - 1 + ranks) % ranks;
    const int64_t from = begin_of(count, ranks, out), to = begin_of(count, ranks, in);
    const int64_t n = begin_of(count, ranks, in + 1) - to;
    send(data + from, begin_of(count, ranks, out + 1) - from);
    receive(incoming, n);
    for (int64_t i = 0; i < n; i++) {
      data[to + i] += incoming[i];
    }
  }
  for (int s = 0; s < ranks - 1; s++) {
    const int out = (rank + 1 - s + ranks) % ranks, in = (rank - s + ranks) % ranks;
    const int64_t from = begin_of(count, ranks, out), to = begin_of(count, ranks, in);
    send(data + from, begin_of(count, ranks, out + 1) - from);
    receive(data + to, begin_of(count, ranks, in + 1) - to);
  }
}
