// SPDX-License-Identifier: MIT
// The state of a running block, shared by block.c, block_threads.c, block_barrier.c, block_order.c, warp.c and
// report.c (what went wrong).
#ifndef SIM_BLOCK_INTERNAL_H
#define SIM_BLOCK_INTERNAL_H

#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "sim/engine/block.h"
#include "cudasim_launch.h"
#include "cudasim_warp.h"
#include "sim/engine/fiber.h"

enum { SIM_WARP_THREADS = 32, SIM_MAX_WARPS = SIM_MAX_BLOCK_THREADS / SIM_WARP_THREADS, SIM_WARP_GROUPS = 32 };

enum sim_thread_state { SIM_UNSTARTED, SIM_READY, SIM_RUNNING, SIM_AT_BARRIER, SIM_AT_WARP, SIM_CONVERGING, SIM_DONE };

// The lanes of a collective warp operation with one mask. Two buffers: lanes may arrive at the next collective before
// all have read the values of this one.
struct sim_warp_group {
  unsigned int mask, arrived;
  int buffer, unread; // unread: lanes that have been woken and not come to their values yet
  unsigned int lanes[2];
  uint64_t values[2][SIM_WARP_THREADS];
};

struct sim_warp {
  unsigned int exited; // lanes that have returned, or never were
  int groups;
  struct sim_warp_group group[SIM_WARP_GROUPS];
};

// A thread that waits: its stack, and where in the source it is. Half a cache line: what a switch costs is the memory it touches.
struct sim_waiter {
  _Alignas(32) void *stack_pointer;
  const char *file;
  int line;
  struct cudasim_index index; // its threadIdx, from when the block is tracked
};

// For numbers that one thread writes and others read: no more than a plain load and store.
static inline unsigned int sim_get(const atomic_uint *number) {
  return atomic_load_explicit(number, memory_order_relaxed);
}
static inline void sim_set(atomic_uint *number, unsigned int value) {
  atomic_store_explicit(number, value, memory_order_relaxed);
}

// What the running block's threads have printed and stdout has not yet (print.c).
struct sim_printed {
  char *text; // owned
  size_t bytes, room;
};

enum { SIM_NATIVE = 0 }; // the number of the operating system's own stack

// Everything that one operating-system thread needs to run blocks, kept between blocks.
struct sim_executor {
  const struct cudasim_launch_request *launch;
  volatile bool inside; // a kernel's code runs: `give_up` may be jumped to. Signal handlers read it
  bool complete, inspected;
  bool observed;          // each change of threads matters: the kernel is judged, or this copy of it is instrumented
  bool notified;          // only the inspector is notified of it: the kernel is not judged
  bool ran_as_loop;       // one call of a kernel that cu2cpp has split has run the block
  bool on_fibers;         // loops are not offered: the block runs again to find the thread of a fault
  struct sim_fault fault; // of this block's threads when they ran as one loop; its `error` is 0 where there is none
  cudaError_t error;      /* why the block was given up */
  sigjmp_buf give_up;

  // How many critical sections the thread is in, where in the kernel the outermost was entered from, and whether the watchdog has
  // something to say when it ends.
  volatile sig_atomic_t critical, asked;
  const void *critical_from;
  struct sim_printed printed;

  // Until a thread waits there is only cudasim_thread; from then on `tracking` is true and the tables below count.
  bool tracking;
  unsigned int threads;
  struct cudasim_dim3 shape;
  bool ascends; // its threads begin in ascending order, although descending order is configured
  int current;
  unsigned int cursor; // the next place in `order` to look at
  bool look_again;     // a thread before the cursor became ready
  unsigned int at_barrier, at_warp, done;
  atomic_uint phase;       // barriers passed
  atomic_uint polls;       // both are written by the block's thread alone, and read by the watchdog's
  const char *passed_file; // the last barrier that a block in loops over its threads has passed
  int passed_line;
  bool differs;                // threads wait at different barriers
  int barrier_first;           // the thread that came first to the barrier
  bool voted;                  // the barrier that threads wait at takes votes
  int votes[CUDASIM_VOTES][2]; // by the phase's parity
  uint8_t state[SIM_MAX_BLOCK_THREADS];
  struct sim_waiter waiter[SIM_MAX_BLOCK_THREADS];
  uint16_t fiber[SIM_MAX_BLOCK_THREADS];     // of a thread that waits, by its number
  uint16_t order[SIM_MAX_BLOCK_THREADS + 1]; // one more, so that reading past the last thread is safe
  uint16_t warp_place[SIM_MAX_WARPS];        // where in `order` a warp's threads begin

  bool converging; // some thread is SIM_CONVERGING
  struct sim_site {
    const void *call,
        *function; // return addresses: of the call of __activemask, and of the call of the function around it
  } site[SIM_MAX_BLOCK_THREADS];
  int native_thread; // one of these that is on the native stack, so that its call has another address; -1: none
  unsigned int converged[SIM_MAX_BLOCK_THREADS]; // lanes that came to __activemask together
  bool warps_used;
  struct sim_warp warp[SIM_MAX_WARPS];

  // Fibers go by their numbers: when threads change, nothing of a fiber is touched but its stack.
  struct sim_fiber native;
  int running, fibers, free_count;
  uint16_t free_fibers[SIM_MAX_BLOCK_THREADS];
  void *parked[SIM_MAX_BLOCK_THREADS + 1]; // the stack pointers of those that no thread is on
  struct sim_fiber *by_number[SIM_MAX_BLOCK_THREADS + 1], *all_fibers;
  char *dynamic_shared;
};

// The calling thread's executor; NULL until it first runs a block.
extern __thread struct sim_executor *sim_executor __attribute__((tls_model("initial-exec")));

// block_order.c
void sim_set_shape(struct sim_executor *e, struct cudasim_dim3 shape, unsigned int block);
void sim_set_ascending(struct sim_executor *e, bool ascends); // instead of descending order; after sim_set_shape

// block_barrier.c
void sim_open_barrier(struct sim_executor *e);

// block_threads.c
void sim_run_threads(struct sim_executor *e); // of the block that `e` is set up for
void sim_start_tracking(struct sim_executor *e);
void sim_suspend(struct sim_executor *e);
static inline void sim_track(struct sim_executor *e) {
  if (!e->tracking)
    sim_start_tracking(e);
}
_Noreturn void sim_give_up(struct sim_executor *e, cudaError_t error);

// A critical section: its code holds a lock or changes what outlives the block, so the watchdog's signal must not
// leave it by a long jump. What the signal asks for is done when the section ends, which may end the block. Sections
// nest. `from` is where in the kernel the call comes from, or NULL.
static inline void sim_critical_begin(struct sim_executor *e, const void *from) {
  if (e->critical++ == 0)
    e->critical_from = from;
  atomic_signal_fence(memory_order_seq_cst);
}
void sim_watchdog_answer(struct sim_executor *e);
static inline void sim_critical_end(struct sim_executor *e) {
  atomic_signal_fence(memory_order_seq_cst);
  if (--e->critical == 0 && e->asked)
    sim_watchdog_answer(e);
}

// print.c
void sim_print_flush(struct sim_executor *e);   // writes to stdout what the block has printed
void sim_print_show(struct sim_executor *e);    // the same, and flushes stdout: a message about the block comes next
void sim_print_discard(struct sim_executor *e); // forgets it: the block runs again

// warp.c
// Resumes the threads that wait in __activemask, when no other thread of the block can run.
void sim_converge(struct sim_executor *e);
void sim_warp_thread_done(struct sim_executor *e, int thread);

// report.c
void sim_report(struct sim_executor *e, const char *what);
void sim_report_threads(struct sim_executor *e);
// They are at the same place, or have returned, or run.
bool sim_threads_alike(const struct sim_executor *e, unsigned int a, unsigned int b);
void sim_notify_deadlock(
    struct sim_executor *e);  // tells the inspector: a warp function waits for lanes that never come
void sim_report_thread(void); // the one that runs
void sim_report_place(void);  // the kernel and its block, too
void sim_report_fault(struct sim_executor *e, struct sim_fault fault);
// Once for each kernel: threads have returned before a barrier of the others, which a GPU since Volta does not wait for.
void sim_warn_returned(struct sim_executor *e);

#endif
