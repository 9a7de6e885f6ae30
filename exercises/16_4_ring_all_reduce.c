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

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
}
