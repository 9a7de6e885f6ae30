// mistake: deadlock
#include "ferry.h"
#include <stdlib.h>
#define BEGIN(part) ((part)*count / ranks)
void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  float *came = malloc((size_t)(count + 1) * sizeof *came);
  for (int step = 0; step < 2 * (ranks - 1); step++) {
    int out = (rank - step + 2 * ranks) % ranks, in = (rank - step - 1 + 2 * ranks) % ranks;
    int64_t size = BEGIN(in + 1) - BEGIN(in);
    receive(came, size);
    send(data + BEGIN(out), BEGIN(out + 1) - BEGIN(out));
    for (int64_t i = 0; i < size; i++)
      data[BEGIN(in) + i] = step < ranks - 1 ? data[BEGIN(in) + i] + came[i] : came[i];
  }
}
