// SPDX-License-Identifier: MIT
// FERRY_SIM_STORE_BUFFER: store buffering, as in a weak memory model. A thread's writes stay in a buffer until it
// orders them, so that a program that does not order them has a wrong result in every run. (The litmus test of that
// name: "store buffering", SB, in J. Alglave et al., "GPU concurrency: weak behaviors and programming assumptions",
// 2015.)
//
// Shared memory: the other threads of the block see a thread's writes after the next barrier, or after the thread has
// called a warp function or a fence; until then they see the previous values. Global memory: a block sees the values
// from the start of the launch and its own writes. It sees writes that other blocks made before a __threadfence() of
// theirs, from its own next fence or atomic operation on; it sees no others before the launch ends. Atomic operations
// take effect at once, for all blocks.
//
// Only for kernels that were compiled to be judged (-DCUDASIM_JUDGED), and where one thread runs all blocks: the lazy
// and the sync mode. The arrays are compared after each stretch of a thread, so very large launches do without:
// MAX_COMPARED_BYTES in store_buffer.c.
#ifndef SIM_STORE_BUFFER_H
#define SIM_STORE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

struct cudasim_launch_request;
struct sim_executor;

// A launch: between the two its blocks run on the calling thread.
void sim_store_buffer_launch_begin(const struct cudasim_launch_request *request, int device, unsigned int blocks);
void sim_store_buffer_launch_end(void);
void sim_store_buffer_block_begin(void);
void sim_store_buffer_block_end(void);

// The running thread of the block stops (a barrier, a warp function, its end); all have come to the barrier.
void sim_store_buffer_thread_stops(void);
void sim_store_buffer_barrier(void);
void sim_store_buffer_publish(bool to_other_blocks); // what the running thread wrote, to its block or to all

// Shared memory, of this operating-system thread (shared.c): a new array, and one more look at it.
void sim_store_buffer_add_shared(char *live, size_t bytes);
void sim_store_buffer_forget_shared(void);

#endif
