// Exercise 16.4: Ring all-reduce                      lesson 16 · hard · 60 min
//
// Task      After ring_all_reduce, the data of every rank are the sums over all
//           ranks, as after dist.all_reduce(data). Rank r can only send to rank
//           r + 1 (the last one to rank 0) and receive from the rank before it.
//           Cut the data into `ranks` parts. In the first half of the steps,
//           each part travels around the ring and every rank adds its numbers
//           to it; in the second half the finished parts travel around.
// Example   ranks have 1 2, 3 4   ->   both have 4 6
// Write     ring_all_reduce. All ranks call it at the same time.
// Inputs    data     count floats; count is 1 to 1,048,576, and the same
//                    everywhere
//           rank, ranks   number of this rank, and how many there are, at least
//                         2
//           send     sends numbers to the next rank; returns without waiting
//           receive  waits for the next message of the rank before, which must
//                    have as many numbers as you ask for
// Required  - the sums, in all ranks; ranks may be threads of one process
//           - each rank sends at most 2 count + 2 ranks numbers
// Stars     ** at most 2 (ranks - 1) messages per rank, of equal size (+- 1)
#include "ferry.h"
#include <stdlib.h>
// [answer]

// Where part i starts: the sizes of the parts differ by one at most.
static int64_t begin_of(int64_t i, int64_t count, int ranks) {
  return i * count / ranks;
}
// [end]

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
  // [answer]
  const int n = ranks;
  float *arrived = malloc((size_t)(count + 1) * sizeof *arrived);
  for (int step = 0; step < 2 * (n - 1); step++) {
    // Send the part that arrived last: in the first half a partial sum of step + 1 ranks, in the second a finished part.
    const int sent = (rank - step + 2 * n) % n, taken = (rank - step - 1 + 2 * n) % n;
    const int64_t from = begin_of(sent, count, n), to = begin_of(taken, count, n);
    const int64_t size = begin_of(taken + 1, count, n) - to;
    send(data + from, begin_of(sent + 1, count, n) - from);
    receive(arrived, size);
    for (int64_t i = 0; i < size; i++)
      data[to + i] = step < n - 1 ? data[to + i] + arrived[i] : arrived[i];
  }
  free(arrived);
  // [stub]
  // [end]
}
