// Exercise 16.4: a ring all-reduce                                              (chapter 16, docs/16_distributed.md)
//
// Write ring_all_reduce: after it, the data of every rank are the sums over all ranks.
//
//   PyTorch:  dist.all_reduce(data)
//
// Given: `count` numbers in `data`, this rank's number and how many ranks there are (at least 2). A rank can send to
// the next one (rank + 1, and the last one to rank 0) and receive from the one before. `send` returns at once, with the
// numbers copied; `receive` waits for the next message from there, which must have as many numbers as are asked for.
// All ranks call the function at once, each with numbers of its own; `count` is the same in all of them, may be less
// than the number of ranks, need not be a multiple of it, and is at most 2^20. Ranks may be threads of one process.
// Judged: the sums, in all ranks, and nothing written beside them. No rank sends more numbers than it must: 2 (n - 1) /
// n of its data, the parts being as equal as whole numbers can be (the larger ones count). No rank sends more than 2 (n
// - 1) messages, and none has more numbers than such a part. A part without numbers may be sent as a message of none,
// or not at all. Nobody waits for a message that never comes.
//
// How it goes: cut the data in n parts. First each part goes around the ring once, and every rank adds its own numbers
// to it: after n - 1 messages each rank has one part that is done. Then the finished parts go around.
#include "ferry.h"
#include <stdlib.h>
// [answer]

// Where part i begins: the parts differ by one number at most.
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
    // The part that came last goes on; in the first half it is a sum of step + 1 ranks, in the second it is done.
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
  //| (void)data;
  //| (void)count;
  //| (void)rank;
  //| (void)ranks;
  //| (void)send;
  //| (void)receive;
  // [end]
}
