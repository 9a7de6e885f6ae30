// Work shared among the CPU's threads: for core/ only.
#ifndef FERRY_BASE_THREADS_H
#define FERRY_BASE_THREADS_H

#include <stdint.h>

// torch.set_num_threads, torch.get_num_threads: CPU threads of one op; by default OMP_NUM_THREADS, or the cores the process
// may run on.
void fy_set_num_threads(int n);
int fy_get_num_threads(void);

// Calls body(begin, end, context) over parts of [0, n), in parallel when n is worth it: a part has at least `grain`
// iterations, and work below that runs on the caller. The body is called at most fy_get_num_threads() times, and must not
// raise.
void fy_parallel_for(int64_t n, int64_t grain, void (*body)(int64_t begin, int64_t end, void *context), void *context);

#endif
