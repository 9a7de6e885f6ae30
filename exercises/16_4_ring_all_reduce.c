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

void ring_all_reduce(float *data, int64_t count, int rank, int ranks, void (*send)(const float *numbers, int64_t count),
                     void (*receive)(float *numbers, int64_t count)) {
}
