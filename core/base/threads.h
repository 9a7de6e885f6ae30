// SPDX-License-Identifier: MIT
// Work shared among the CPU's threads: for core/ only.
#ifndef FERRY_BASE_THREADS_H
#define FERRY_BASE_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// torch.set_num_threads, torch.get_num_threads: CPU threads of one op; by default OMP_NUM_THREADS, or the cores the process
// may run on.
void fy_set_num_threads(int n);
int fy_get_num_threads(void);

// Calls body(begin, end, context) over parts of [0, n), in parallel when n is worth it: a part has at least `grain`
// iterations, and work below that runs on the caller. The body is called at most fy_get_num_threads() times, and must not
// raise.
void fy_parallel_for(int64_t n, int64_t grain, void (*body)(int64_t begin, int64_t end, void *context), void *context);

// What is left of n iterations, for threads that take the next one when they are done with one.
typedef struct FyTurns {
  atomic_llong next;
  int64_t n;
} FyTurns;

static inline bool fy_next_turn(FyTurns *turns, int64_t *i) {
  *i = atomic_fetch_add_explicit(&turns->next, 1, memory_order_relaxed);
  return *i < turns->n;
}

// Calls body(worker, turns, context) on up to n threads, which take the turns among themselves: for iterations long enough
// that a thread whose core another program has slowed down should not be given its share beforehand. `worker` tells the
// calls apart, and is below fy_get_num_threads(). The body takes turns until there are none, unless it fails, and must not
// raise.
void fy_parallel_turns(int64_t n, void (*body)(int worker, FyTurns *turns, void *context), void *context);

#endif
