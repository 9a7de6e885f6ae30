// Thread sanitizer builds only (-DCUDASIM_TSAN): the simulator is not instrumented, and tells the sanitizer what CUDA
// promises instead. Each stream is a lane: an operating-system thread of its own, so that stacks and shared arrays are
// not passed between streams, and a fiber of the sanitizer, whose clock learns of other streams only by a node's edges.
// In other builds a node's lane is NULL.
#ifndef SIM_LANE_H
#define SIM_LANE_H

#include "sim/runtime/node.h"

struct sim_lane;

#ifdef CUDASIM_TSAN
enum { SIM_LANES = 1 };
struct sim_lane *sim_lane_new(void);
// The stream is gone; another may use the lane.
void sim_lane_free(struct sim_lane *lane);
// The host's order so far, and what the node waits for, are before the node. sim.lock is held for the first.
void sim_lane_submitted(struct sim_node *node);
void sim_lane_run(struct sim_node *node, void (*run)(struct sim_node *));
// What the node did is before what the calling host thread does next.
void sim_lane_waited(struct sim_node *node);
// Whoever frees a node, or work, comes after all who let go of it.
void sim_lane_releasing(atomic_int *references);
void sim_lane_freeing(atomic_int *references);
// Hands the node to its lane's thread. sim.lock is held.
void sim_lane_push(struct sim_node *node);
#else
enum { SIM_LANES = 0 };
static inline struct sim_lane *sim_lane_new(void) {
  return NULL;
}
static inline void sim_lane_free(struct sim_lane *lane) {
  (void)lane;
}
static inline void sim_lane_submitted(struct sim_node *node) {
  (void)node;
}
static inline void sim_lane_waited(struct sim_node *node) {
  (void)node;
}
static inline void sim_lane_releasing(atomic_int *references) {
  (void)references;
}
static inline void sim_lane_freeing(atomic_int *references) {
  (void)references;
}
static inline void sim_lane_run(struct sim_node *node, void (*run)(struct sim_node *)) {
  run(node);
}
static inline void sim_lane_push(struct sim_node *node) {
  (void)node;
}
#endif

#endif
