// Parts of ceil(count / ranks) numbers, and a smaller last one.
#include "ferry.h"
#include <stdlib.h>

// Where part p begins; p is 0 .. ranks.
static int64_t begin_of(int64_t count, int ranks, int p) {
  int64_t begin = p * ((count + ranks - 1) / ranks);
  return begin < count ? begin : count;
}

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  float *buffer = malloc(((size_t)(count / ranks) + 1) * sizeof *buffer);
  fy_check(buffer != NULL, FY_OUT_OF_MEMORY_ERROR, "no memory for a part");
  for (int step = 0; step < ranks - 1; step++) {
    int out = (rank - step + ranks) % ranks, in = (rank - step - 1 + ranks) % ranks;
    int64_t to = begin_of(count, ranks, out), from = begin_of(count, ranks, in);
    int64_t size = begin_of(count, ranks, in + 1) - from;
    send(data + to, begin_of(count, ranks, out + 1) - to);
    receive(buffer, size);
    for (int64_t i = 0; i < size; i++)
      data[from + i] += buffer[i];
  }
  for (int step = 0; step < ranks - 1; step++) {
    int out = (rank + 1 - step + ranks) % ranks, in = (rank - step + ranks) % ranks;
    int64_t to = begin_of(count, ranks, out), from = begin_of(count, ranks, in);
    send(data + to, begin_of(count, ranks, out + 1) - to);
    receive(data + from, begin_of(count, ranks, in + 1) - from);
  }
  free(buffer);
}
