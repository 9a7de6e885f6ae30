// SPDX-License-Identifier: MIT
// Reports of operations to the program above (cudasim_trace, cudasim_observe): two plugins, registered when they are
// first asked for.
#ifndef SIM_TRACE_H
#define SIM_TRACE_H

struct cudasim_activity;

// Reports that the activity has run, with the times that it has.
void sim_trace_report_ran(const struct cudasim_activity *activity);

#endif
