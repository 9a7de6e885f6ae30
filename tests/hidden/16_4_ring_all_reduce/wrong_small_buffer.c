// mistake: out-of-bounds index
#include "ferry.h"
#include <stdlib.h>

// Where part i begins: the parts differ by one number at most.
static int64_t begin_of(int64_t i, int64_t count, int ranks) {
  return i * count / ranks;
}

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  const int n = ranks;
  float arrived[1 << 16];
  for (int step = 0; step < 2 * (n - 1); step++) {
    // The part that came last goes on; in the first half it is a sum of step + 1 ranks, in the second it is done.
    const int sent = (rank - step + 2 * n) % n, taken = (rank - step - 1 + 2 * n) % n;
    const int64_t from = begin_of(sent, count, n), to = begin_of(taken, count, n);
    const int64_t size = begin_of(taken + 1, count, n) - to;
    send(data + from, begin_of(sent + 1, count, n) - from);
    receive(arrived, size);
    for (int64_t i = 0; i < size; i++)
      data[to + i] = step < n - 1 ? data[to + i] + arrived[i] : arrived[i];
  }
}
