// Exercise 16.4: Ring all-reduce                      lesson 16 · hard · 60 min
//
// Task      Sum an array over all ranks, as dist.all_reduce(data) does. Use a
//           ring: each rank sends only to the next one. Divide the data into
//           one part per rank. First, each part travels around the ring, and
//           every rank adds its own numbers to it (reduce-scatter). Then the
//           complete parts travel around the ring (all-gather). Each rank sends
//           less than twice its data, for any number of ranks.
// Example   ranks 0 and 1 have 1 2 and 10 20   ->   both have 11 22
// Write     ring_all_reduce, which all ranks call at the same time.
// Inputs    data           array of count floats, different on each rank
//           count          1 to 2^20, the same on all ranks
//           rank, ranks    0 to ranks - 1; 2 or more, threads of one process
//           send           sends to rank + 1 (the last rank sends to rank 0);
//                          copies the numbers and does not wait
//           receive        waits for the next message from the previous rank;
//                          its count must equal the sender's
// Required  - on all ranks, data is the sum, without deadlock or data races
//           - each rank sends at most 3 x (count + ranks) floats
// Stars     ** no message has more than ceil(count / ranks) numbers
//           *** at most 2 (ranks - 1) messages per rank
#include "ferry.h"
#include <stdlib.h>
// [answer]

// The index at which part i starts. The sizes of the parts differ by at most one.
static int64_t part_start(int64_t i, int64_t count, int ranks) {
  return i * count / ranks;
}
// [end]

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  // [answer]
  const int n = ranks;
  float *buffer = malloc((size_t)(count / n + 1) * sizeof *buffer);
  for (int step = 0; step < 2 * (n - 1); step++) {
    // Send the part that was received last: a partial sum in the reduce-scatter, a complete one in the all-gather.
    const int sent = (rank - step + 2 * n) % n, received = (rank - step - 1 + 2 * n) % n;
    const int64_t from = part_start(sent, count, n), to = part_start(received, count, n);
    const int64_t size = part_start(received + 1, count, n) - to;
    send(data + from, part_start(sent + 1, count, n) - from);
    receive(buffer, size);
    for (int64_t i = 0; i < size; i++)
      data[to + i] = step < n - 1 ? data[to + i] + buffer[i] : buffer[i];
  }
  free(buffer);
  // [stub]
  // [end]
}
