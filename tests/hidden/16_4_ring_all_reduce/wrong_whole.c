// mistake: whole array sent in each step
#include "ferry.h"
#include <stdlib.h>

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  float *came = malloc((size_t)count * sizeof *came), *sum = malloc((size_t)count * sizeof *sum);
  (void)rank;
  for (int64_t i = 0; i < count; i++)
    sum[i] = data[i];
  for (int step = 0; step < ranks - 1; step++) {
    send(data, count);
    receive(came, count);
    for (int64_t i = 0; i < count; i++) {
      sum[i] += came[i];
      data[i] = came[i];
    }
  }
  for (int64_t i = 0; i < count; i++)
    data[i] = sum[i];
}
