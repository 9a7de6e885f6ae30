// The modelled clock of devices that play a GPU (FERRY_SIM_GPU): when each node would begin and end there. It is a plugin of the
// simulator (base/plugin.h) that answers questions, too. The account itself is model/schedule.h; here nodes become its tasks, and calls
// become time of the host.
//
// Each host thread has a clock of its own, which calls and waits move on; work of the host between calls takes no time on it. A
// thread's first call finds it where the latest of all threads' is.
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include "model/schedule.h"
#include "sim/runtime/node.h"

// What a work would take. Filled in by its `cost`, or by the op that queues it.
struct sim_cost {
  enum model_engine engine;
  int from, to; // devices, for copies and kernels the same
  double seconds, share;
  bool host_waits; // the call returns when it is done: pageable memory
  bool part;       // of an operation whose cost another work has: no call, no time
  bool counted;    // by a plugin while the kernel runs: `seconds` holds only where it cannot be waited for
};

// The node, which waits for others and for no engine, takes so long. Before it is submitted.
void sim_clock_takes(struct sim_node *node, double seconds);

// Has the activity reported by sim_trace_report_ran when the node's modelled times are known. Before the node is submitted.
struct cudasim_activity;
void sim_clock_report_when_known(struct sim_node *node, const struct cudasim_activity *activity);

// When the node, which is done, ended: seconds of the modelled clock.
double sim_clock_finish(struct sim_node *node);

// A modelled time is about to be shown: says what it is, once, unless the program has asked for the label.
void sim_clock_label(void);

// Whether a plugin will count such a launch (cudasim_counts_come).
struct cudasim_launch_request;
bool sim_clock_counts_come(const struct cudasim_launch_request *request);

// At the simulator's own start, when a GPU is played: registers the plugin.
void sim_clock_start(void);

#endif
