// SPDX-License-Identifier: MIT
// A fiber: a stack on which a simulated thread can stop in the middle and be resumed, without the operating system.
#ifndef SIM_FIBER_H
#define SIM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#include "sim/engine/sanitizer.h"

#if !defined(__x86_64__) && !defined(__aarch64__)
#define SIM_UCONTEXT 1
#endif
#ifdef SIM_UCONTEXT
#include <ucontext.h>
#endif

struct sim_fiber {
  void *stack_pointer; // before it begins
  char *low;           // the stack's lowest address; a guard lies below
  char *open;          // the lowest that is accessible so far
  size_t size;
  void *asan_stack;       // AddressSanitizer's fake stack
  struct sim_fiber *next; // all that a thread ever made
  int number;
#ifdef SIM_UCONTEXT
  ucontext_t context;
#endif
};

// The operating system's own stack, as the fiber that the calling thread is on now.
struct sim_fiber sim_fiber_native(void);

// A new fiber that begins in sim_fiber_entry when it is first switched to.
struct sim_fiber *sim_fiber_new(int number);
void sim_fiber_free(struct sim_fiber *fiber);

// Forgets what the fiber was doing: it begins in sim_fiber_entry again.
void sim_fiber_reset(struct sim_fiber *fiber);

// Saves the callee-saved registers on the current stack and the stack pointer in *save; continues from `load`.
void sim_fiber_swap(void **save, void *load);

// Suspends `from`, which the caller is on, and resumes `to`; *save and `load` are their stack pointers. Returns when something
// switches back. Without a sanitizer it is the swap alone, so that a caller can end in it.
#if !defined(SIM_ASAN) && !defined(SIM_UCONTEXT)
#define SIM_FIBERS_SWAP 1
#ifdef __x86_64__
#define SIM_FIBERS_JUMP 1
// From the beginning of a fiber that runs nothing; and to a fiber that waits, where the running one has nothing to go on with. The
// processor predicts such jumps; a return to what was not called it does not.
void sim_fiber_start(void **save, void *top);
void sim_fiber_jump(void *load);
#endif
static inline void sim_fiber_switch(struct sim_fiber *from, void **save, struct sim_fiber *to, void *load) {
  (void)from;
  (void)to;
  sim_fiber_swap(save, load);
}
#else
void sim_fiber_switch(struct sim_fiber *from, void **save, struct sim_fiber *to, void *load);
#endif

// Must be the first call on a fiber that was not reached by a switch's return: in sim_fiber_entry, after a long jump.
void sim_fiber_landed(struct sim_fiber *self);

// Announces a long jump from the current fiber to `to`.
void sim_fiber_before_jump(const struct sim_fiber *to);

// Where fibers begin; never returns. In block.c.
void sim_fiber_entry(void);

// Makes the stack accessible from the address on. False: it is no address of this stack's that was not accessible, or
// the system gives no memory. Called by the handler of SIGSEGV.
bool sim_fiber_grow(struct sim_fiber *fiber, const void *address);

// Whether an inaccessible address belongs to the stack or its guard.
bool sim_fiber_guards(const struct sim_fiber *fiber, const void *address);

#endif
