// Telling somebody what is queued and what has run (cudasim_trace).
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

#include "sim/runtime/cudasim.h"
#include "sim/runtime/node.h"

bool sim_is_traced(void);
long long sim_now(void); // nanoseconds

// The node, which has work that can be described, is one to be told of.
void sim_trace_name(struct sim_node *node, unsigned long long stream);

// The work is still the node's.
struct cudasim_activity sim_trace_describe(const struct sim_node *node);

// What was described has been queued by a call that began then, or has run since then.
void sim_trace_queued(struct cudasim_activity *activity, long long begin);
void sim_trace_ran(struct cudasim_activity *activity, long long begin);
void sim_trace_tell_ran(const struct cudasim_activity *activity); // with the times that it has

#endif
