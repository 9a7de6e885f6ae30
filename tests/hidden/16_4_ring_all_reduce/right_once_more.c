// missing star: too many messages
#include "ferry.h"
#include <stdlib.h>

// The finished parts go around once more than they have to: what comes last is there already.
void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  float *arrived = malloc((size_t)(count + 1) * sizeof *arrived);
  for (int step = 0; step < 2 * ranks - 1; step++) {
    int sent = (rank - step + 2 * ranks) % ranks, taken = (rank - step - 1 + 2 * ranks) % ranks;
    int64_t from = sent * count / ranks, to = taken * count / ranks, size = (taken + 1) * count / ranks - to;
    send(data + from, (sent + 1) * count / ranks - from);
    receive(arrived, size);
    for (int64_t i = 0; i < size; i++)
      data[to + i] = step < ranks - 1 ? data[to + i] + arrived[i] : arrived[i];
  }
  free(arrived);
}
