// SPDX-License-Identifier: MIT
// The modeled clock of devices that model a GPU (FERRY_SIM_GPU): when each node would begin and end there. It is a
// plugin of the simulator (base/plugin.h) that answers questions, too. The account itself is model/schedule.h; here
// nodes become its tasks, and calls become time of the host.
//
// Each host thread has its own clock. Calls and waits advance it; work of the host between calls takes no time. A new
// thread's clock starts at the latest time of all threads.
#ifndef SIM_CLOCK_H
#define SIM_CLOCK_H

#include "model/schedule.h"
#include "sim/runtime/node.h"

// The modeled cost of a work. Set by its `cost` function, or by the op that queues it.
struct sim_cost {
  enum model_engine engine;
  int from, to; // devices, for copies and kernels the same
  double seconds, share;
  bool host_waits; // the call returns when it is done: pageable memory
  bool part;       // of an operation whose cost another work has: this one takes no time
  bool counted;    // by a plugin while the kernel runs: `seconds` holds only where it cannot be waited for
};

// Sets the time of a node that needs no engine. Before the node is submitted.
void sim_clock_takes(struct sim_node *node, double seconds);

// Has the activity reported by sim_trace_report_ran when the node's modeled times are known. Before the node is submitted.
struct cudasim_activity;
void sim_clock_report_when_known(struct sim_node *node, const struct cudasim_activity *activity);

// The end of a node that is done, in seconds of the modeled clock.
double sim_clock_finish(struct sim_node *node);

// Prints once that times are modeled, unless the program has asked for the label. Before a modeled time is returned.
void sim_clock_label(void);

// Whether a plugin will count such a launch (cudasim_counts_come).
struct cudasim_launch_request;
bool sim_clock_counts_come(const struct cudasim_launch_request *request);

// Registers the plugin. Called when the simulator starts, if a GPU is modeled.
void sim_clock_start(void);

#endif
