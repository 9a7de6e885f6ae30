// missing star: unequal parts
// The sum goes around the ring once, from rank 0, and then the result.
#include "ferry.h"
#include <stdlib.h>

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  float *sum = calloc((size_t)count, sizeof *sum);
  if (rank > 0)
    receive(sum, count);
  for (int64_t i = 0; i < count; i++)
    sum[i] += data[i];
  send(sum, count);
  receive(data, count); // the result
  if (rank < ranks - 1)
    send(data, count);
  free(sum);
}
