// FERRY_SIM_WEAK: memory as weakly ordered as a GPU may have it, so that what was not ordered shows as a wrong result, in every run.
//
// Shared memory ("within" blocks): what a thread writes the others of its block see after the next barrier, or once it came to a warp function or a
// fence; until then they see what was there before. Device memory ("between" blocks): a block sees what was there when the launch began, what it wrote
// itself, and what other blocks had written before a __threadfence() of theirs, as soon as it comes to a fence or an atomic
// operation; everything else of theirs is there when the launch ends. Atomic operations are done at once and for all.
//
// Only for kernels that were compiled to be judged (-DCUDASIM_JUDGED), and where one thread runs all blocks: the lazy and the sync
// mode. The arrays are compared after each stretch of a thread, so very large launches do without: WEAK_WORK in weak.c.
#ifndef SIM_WEAK_H
#define SIM_WEAK_H

#include <stdbool.h>
#include <stddef.h>

struct cudasim_launch_request;
struct sim_executor;

// A launch: between the two its blocks run on the calling thread.
void sim_weak_launch_begin(const struct cudasim_launch_request *request, int device, unsigned int blocks);
void sim_weak_launch_end(void);
void sim_weak_block_begin(void);
void sim_weak_block_end(void);

// The running thread of the block stops (a barrier, a warp function, its end); all have come to the barrier.
void sim_weak_thread_stops(void);
void sim_weak_barrier(void);
void sim_weak_publish(bool to_other_blocks); // what the running thread wrote, to its block or to all

// Shared memory, of this operating-system thread (shared.c): a new array, and one more look at it.
void sim_weak_add_shared(char *live, size_t bytes);
void sim_weak_forget_shared(void);

#endif
