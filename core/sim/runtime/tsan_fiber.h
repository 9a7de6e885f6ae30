// SPDX-License-Identifier: MIT
// Thread sanitizer builds only (-DCUDASIM_TSAN): the simulator is not instrumented, and tells the sanitizer what CUDA
// promises instead. Each stream has a fiber of the sanitizer, whose clock learns of other streams only by a node's
// edges, and an operating-system thread that runs its nodes, so that stacks and shared arrays are not passed between
// streams. In other builds a node's tsan_fiber is NULL.
//
// This is no plugin (base/plugin.h): it does not observe how nodes run but runs them, between two switches of the fiber.
#ifndef SIM_TSAN_FIBER_H
#define SIM_TSAN_FIBER_H

#include "sim/runtime/node.h"

struct sim_tsan_fiber;

#ifdef CUDASIM_TSAN
enum { SIM_TSAN_FIBERS = 1 };
struct sim_tsan_fiber *sim_tsan_fiber_new(void);
// The stream is gone; another may use the fiber.
void sim_tsan_fiber_free(struct sim_tsan_fiber *fiber);
// The host's order so far, and what the node waits for, are before the node. sim.lock is held for the first.
void sim_tsan_fiber_submitted(struct sim_node *node);
void sim_tsan_fiber_run(struct sim_node *node, void (*run)(struct sim_node *));
// What the node did is before what the calling host thread does next.
void sim_tsan_fiber_waited(struct sim_node *node);
// Hands the node to its fiber's thread. sim.lock is held.
void sim_tsan_fiber_push(struct sim_node *node);
#else
enum { SIM_TSAN_FIBERS = 0 };
static inline struct sim_tsan_fiber *sim_tsan_fiber_new(void) {
  return NULL;
}
static inline void sim_tsan_fiber_free(struct sim_tsan_fiber *fiber) {
  (void)fiber;
}
static inline void sim_tsan_fiber_submitted(struct sim_node *node) {
  (void)node;
}
static inline void sim_tsan_fiber_waited(struct sim_node *node) {
  (void)node;
}
static inline void sim_tsan_fiber_run(struct sim_node *node, void (*run)(struct sim_node *)) {
  run(node);
}
static inline void sim_tsan_fiber_push(struct sim_node *node) {
  (void)node;
}
#endif

#endif
